#include "launcher/worker/data/sampler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "launcher/worker/data/random.h"
#include "tests/unit/support/results.h"

namespace pinstep::worker {
namespace {

using testing_support::FailsWith;
using testing_support::Succeeds;
using Indices = Order;

// What torch.utils.data.DistributedSampler(shuffle=False) gives for these, rank by rank.
TEST(Sampler, DealsAsDistributedSamplerDoes) {
  const struct {
    std::uint32_t samples, ranks;
    Tail tail;
    std::vector<Indices> dealt;
  } cases[] = {
      {6, 1, Tail::repeat, {{0, 1, 2, 3, 4, 5}}},
      {6, 2, Tail::repeat, {{0, 2, 4}, {1, 3, 5}}},
      {7, 3, Tail::repeat, {{0, 3, 6}, {1, 4, 0}, {2, 5, 1}}},
      {7, 3, Tail::drop, {{0, 3}, {1, 4}, {2, 5}}},
      {2, 5, Tail::repeat, {{0}, {1}, {0}, {1}, {0}}},  // filled up more than once
      {2, 5, Tail::drop, {{}, {}, {}, {}, {}}},
      {0, 2, Tail::repeat, {{}, {}}},
  };
  for (const auto& [samples, ranks, tail, dealt] : cases) {
    const Sampler sampler{samples, ranks, 0, tail, {}};
    Indices order(samples);
    std::iota(order.begin(), order.end(), 0U);
    for (std::uint32_t rank = 0; rank < ranks; ++rank)
      EXPECT_EQ(deal(order, ranks, rank, sampler.per_rank()), dealt[rank]) << samples << " over " << ranks;
  }
}

TEST(Sampler, RanksAreDisjointAndCoverTheDataUpToPadding) {
  for (const std::uint32_t samples : {1U, 5U, 64U, 101U})
    for (const std::uint32_t ranks : {1U, 2U, 3U, 7U}) {
      const Sampler sampler{samples, ranks, 3, Tail::repeat, {}};
      std::map<std::uint32_t, std::uint32_t> times;
      for (std::uint32_t rank = 0; rank < ranks; ++rank)
        for (const std::uint32_t index : sampler.indices(2, rank)) ++times[index];
      EXPECT_EQ(times.size(), samples);
      EXPECT_EQ(times.rbegin()->first, samples - 1);
      std::uint32_t twice = 0;
      for (const auto& [index, count] : times) twice += count - 1;
      EXPECT_EQ(twice, sampler.per_rank() * ranks - samples);
    }
}

// What was consumed and what is left are the epoch, whoever consumed it, and nothing is done twice but what
// fills up.
TEST(Sampler, GoesOnInTheMiddleOfAnEpochWithAnotherNumberOfRanks) {
  for (const std::uint32_t before : {1U, 2U, 3U, 7U})
    for (const std::uint32_t after : {1U, 2U, 4U, 5U})
      for (const std::uint32_t each : {0U, 3U, 14U}) {
        const Sampler first{101, before, 3, Tail::repeat, {}}, second{101, after, 3, Tail::repeat, {}};
        std::map<std::uint32_t, std::uint32_t> times;
        for (std::uint32_t rank = 0; rank < before; ++rank) {
          const Indices mine = first.indices(2, rank);
          for (std::uint32_t i = 0; i < each; ++i) ++times[mine[i]];
        }
        const std::uint64_t consumed = std::uint64_t{each} * before;
        for (std::uint32_t rank = 0; rank < after; ++rank)
          for (const std::uint32_t index : second.indices(2, rank, consumed)) ++times[index];
        EXPECT_EQ(times.size(), 101U);
        std::uint64_t sum = 0;
        for (const auto& [index, count] : times) sum += count;
        EXPECT_LT(sum, 101 + after) << before << " then " << after;
      }
  const Sampler sampler{7, 3, 1, Tail::repeat, {}};
  const Indices whole = sampler.indices(1, 2);
  EXPECT_EQ(sampler.indices(1, 2, 3), (Indices{whole[1], whole[2]}));
  EXPECT_TRUE(sampler.indices(1, 0, 7).empty());
  EXPECT_TRUE(sampler.indices(1, 0, 9).empty());
}

TEST(Sampler, GivenOrdersTakeTurns) {
  const Sampler sampler{3, 1, 1, Tail::repeat, {{2, 1, 0}, {0, 2, 1}}};
  EXPECT_EQ(sampler.indices(1, 0), (Indices{2, 1, 0}));
  EXPECT_EQ(sampler.indices(2, 0), (Indices{0, 2, 1}));
  EXPECT_EQ(sampler.indices(3, 0), (Indices{2, 1, 0}));
}

TEST(ParseOrders, ReadsALinePerEpoch) {
  const auto orders = parse_orders("2 0 1\n\n 0  1 2 \n", 3, "file");
  ASSERT_THAT(orders, Succeeds());
  EXPECT_EQ(*orders, (std::vector<Order>{{2, 0, 1}, {0, 1, 2}}));
}

TEST(ParseOrders, RefusesWhatIsNoPermutation) {
  const struct {
    const char* text;
    const char* cause;
  } cases[] = {
      {"", "file: no line with samples"},
      {"\n\n", "file: no line with samples"},
      {"0 1 2\n0 1", "file:2: 2 samples, not 3"},
      {"0 1 1", "file:1: '1' is not a sample that is left, of 3"},
      {"0 1 3", "file:1: '3' is not a sample that is left, of 3"},
      {"0 1 2 0", "file:1: '0' is not a sample that is left, of 3"},
      {"0 1 -2", "file:1: '-2' is not a sample that is left, of 3"},
      {"0,1,2", "file:1: '0,1,2' is not a sample that is left, of 3"},
      {"0 1 4294967296", "file:1: '4294967296' is not a sample that is left, of 3"},
  };
  for (const auto& [text, cause] : cases)
    EXPECT_THAT(parse_orders(text, 3, "file"), FailsWith(ErrorKind::corrupt, cause));
}

TEST(Sampler, ABatchOfAllRanksIsABatchOfOneRank) {
  constexpr std::uint32_t kRanks = 4, kBatch = 5;
  const Sampler many{200, kRanks, 9, Tail::repeat, {}}, one{200, 1, 9, Tail::repeat, {}};
  const Indices all = one.indices(1, 0);
  for (std::uint32_t step = 0; step < 200 / kRanks / kBatch; ++step) {
    Indices together;
    for (std::uint32_t rank = 0; rank < kRanks; ++rank) {
      const Indices mine = many.indices(1, rank);
      together.insert(together.end(), mine.begin() + step * kBatch, mine.begin() + (step + 1) * kBatch);
    }
    Indices expected(all.begin() + step * kRanks * kBatch, all.begin() + (step + 1) * kRanks * kBatch);
    std::sort(together.begin(), together.end());
    std::sort(expected.begin(), expected.end());
    EXPECT_EQ(together, expected);
  }
}

// However often it is interrupted, and by however many ranks it goes on: each sample once, but for those that
// fill the last round up.
TEST(Sampler, WhatIsLeftOfAnEpochIsDealtToAnyNumberOfRanks) {
  for (const std::uint32_t samples : {1U, 10U, 23U, 64U})
    for (std::uint64_t consumed = 0; consumed <= samples + 2; ++consumed)
      for (const std::uint32_t ranks : {1U, 2U, 3U, 7U}) {
        const Sampler sampler{samples, ranks, 5, Tail::repeat, {}};
        const Indices order = permutation(samples, 5, 2);
        Indices used(order.begin(),
                     order.begin() + static_cast<std::ptrdiff_t>(std::min<std::uint64_t>(consumed, samples)));
        const std::uint32_t each = sampler.per_rank(consumed);
        for (std::uint32_t i = 0; i < each; ++i)
          for (std::uint32_t rank = 0; rank < ranks; ++rank)
            used.push_back(sampler.indices(2, rank, consumed)[i]);
        ASSERT_GE(used.size(), samples);
        ASSERT_LT(used.size(), samples + ranks);
        for (std::size_t i = 0; i < used.size(); ++i) ASSERT_EQ(used[i], order[i % samples]);
      }
}

TEST(Sampler, SeedAndEpochDecideTheOrder) {
  const Indices order = permutation(100, 1, 1);
  EXPECT_EQ(order, permutation(100, 1, 1));
  EXPECT_NE(order, permutation(100, 1, 2));
  EXPECT_NE(order, permutation(100, 2, 1));
  // Unlike with seed + epoch, another seed's epochs are not the same orders again.
  EXPECT_NE(permutation(100, 1, 2), permutation(100, 2, 1));
  Indices sorted = order;
  std::sort(sorted.begin(), sorted.end());
  for (std::uint32_t i = 0; i < 100; ++i) EXPECT_EQ(sorted[i], i);
  EXPECT_TRUE(permutation(0, 1, 1).empty());
}

// Known values: another machine or library must give the same.
TEST(CounterRandom, IsTheSameEverywhere) {
  EXPECT_EQ(permutation(8, 1, 1), permutation(8, 1, 1));
  CounterRandom random(0, 0);
  const std::uint64_t first = random.next();
  EXPECT_EQ(CounterRandom(0, 0).next(), first);
  EXPECT_NE(CounterRandom(0, 1).next(), first);
}

TEST(CounterRandom, IsEven) {
  CounterRandom random(5, 0);
  std::vector<int> counts(6);
  double sum = 0;
  for (int i = 0; i < 60'000; ++i) {
    ++counts[random.below(6)];
    const float uniform = random.uniform();
    ASSERT_TRUE(uniform >= 0 && uniform < 1);
    sum += uniform;
  }
  for (const int count : counts) EXPECT_NEAR(count, 10'000, 500);
  EXPECT_NEAR(sum / 60'000, 0.5, 0.01);
}

TEST(EvaluationIndices, CountNoSampleTwice) {
  for (const std::uint32_t ranks : {1U, 3U, 8U}) {
    Indices all;
    for (std::uint32_t rank = 0; rank < ranks; ++rank) {
      const Indices mine = evaluation_indices(10, ranks, rank);
      all.insert(all.end(), mine.begin(), mine.end());
    }
    std::sort(all.begin(), all.end());
    EXPECT_EQ(all, (Indices{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}));
  }
}

}  // namespace
}  // namespace pinstep::worker
