#include "launcher/worker/data/loader.h"

#include <gtest/gtest.h>

#include "launcher/worker/data/steps.h"
#include "tests/unit/launcher/worker/support/data.h"

namespace pinstep::worker {
namespace {

using testing_support::made_up_images;

TEST(Loader, GivesTheSamePortionsWhateverTheNumberOfThreads) {
  const Images images = made_up_images(500, 1);
  const Order order = permutation(500, 1, 1);
  std::vector<std::span<const std::uint32_t>> portions;
  for (std::size_t first = 0; first < order.size(); first += 7)
    portions.push_back(std::span(order).subspan(first, std::min<std::size_t>(7, order.size() - first)));
  for (const unsigned threads : {0U, 1U, 2U, 9U}) {
    Loader loader(images, portions, threads);
    for (const auto& portion : portions) {
      const LoadedImages* loaded = loader.next();
      ASSERT_NE(loaded, nullptr);
      ASSERT_EQ(loaded->samples.data(), portion.data());
      ASSERT_EQ(loaded->labels.size(), portion.size());
      for (std::size_t row = 0; row < portion.size(); ++row) {
        ASSERT_EQ(loaded->labels[row], images.labels[portion[row]]);
        ASSERT_EQ(loaded->values.substr(row * 16, 16), images.values.substr(portion[row] * 16, 16));
      }
    }
    EXPECT_EQ(loader.next(), nullptr);
    EXPECT_EQ(loader.next(), nullptr);
  }
}

TEST(Loader, EndsInTheMiddle) {
  const Images images = made_up_images(50, 1);
  const Order order = permutation(50, 1, 1);
  const std::vector<std::span<const std::uint32_t>> portions(30, std::span(order));
  for (const std::size_t used : {0U, 1U, 5U}) {
    Loader loader(images, portions, 3);
    for (std::size_t i = 0; i < used; ++i) loader.next();
  }
  Loader none(images, {}, 2);
  EXPECT_EQ(none.next(), nullptr);
}

struct Cut {
  Order samples;
  std::uint32_t shard;
  bool begins_shard, ends_shard, ends_step;
  bool operator==(const Cut&) const = default;
};

void PrintTo(const Cut& cut, std::ostream* out) {
  for (const auto sample : cut.samples) *out << sample << " ";
  *out << "of " << cut.shard << (cut.begins_shard ? " begins" : "") << (cut.ends_shard ? " ends" : "")
       << (cut.ends_step ? " ends step" : "");
}

TEST(EpochSteps, CutsShardsIntoBatchesAndLeavesNothingOut) {
  const struct {
    std::vector<Order> shards;
    std::uint32_t batch, accumulate;
    std::vector<Cut> cuts;
    std::vector<std::size_t> rows;
  } cases[] = {
      {{}, 2, 1, {}, {}},
      {{{}}, 2, 1, {}, {}},
      {{{5, 6, 7}}, 2, 1, {{{5, 6}, 0, true, true, true}, {{7}, 0, true, true, true}}, {2, 1}},
      {{{1, 2, 3, 4, 5}},
       2,
       2,
       {{{1, 2}, 0, true, false, false}, {{3, 4}, 0, false, true, true}, {{5}, 0, true, true, true}},
       {4, 1}},
      {{{1, 2, 3}, {4, 5, 6}},
       2,
       1,
       {{{1, 2}, 0, true, true, false},
        {{4, 5}, 1, true, true, true},
        {{3}, 0, true, true, false},
        {{6}, 1, true, true, true}},
       {2, 1}},
      {{{1, 2, 3}, {4, 5, 6}},
       2,
       2,
       {{{1, 2}, 0, true, false, false},
        {{3}, 0, false, true, false},
        {{4, 5}, 1, true, false, false},
        {{6}, 1, false, true, true}},
       {3}},
  };
  for (const auto& [shards, batch, accumulate, cuts, rows] : cases) {
    const EpochSteps steps(shards, batch, accumulate);
    std::vector<Cut> found;
    for (const Portion& p : steps.portions())
      found.push_back(
          {{p.samples.begin(), p.samples.end()}, p.shard, p.begins_shard, p.ends_shard, p.ends_step});
    EXPECT_EQ(found, cuts);
    ASSERT_EQ(steps.steps(), rows.size());
    for (std::size_t i = 0; i < rows.size(); ++i) EXPECT_EQ(steps.rows(i), rows[i]);
  }
}

}  // namespace
}  // namespace pinstep::worker
