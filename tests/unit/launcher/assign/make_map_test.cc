#include "launcher/assign/make_map.h"

#include <algorithm>

#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing_support::FailsWith;
using testing_support::Holds;
using testing_support::Random;

// Some machine: two packages, memory nodes with cores of two threads, devices anywhere on them.
Machine some_machine(Random& random) {
  Machine machine;
  const std::uint32_t nodes = 2 * static_cast<std::uint32_t>(random.between(1, 4));
  std::uint32_t pu = 0;
  for (std::uint32_t node = 0; node < nodes; ++node)
    for (std::size_t n = random.between(0, 6); n > 0; --n, pu += 2)
      machine.cores.push_back({Bits{pu, pu + 1}, node, node / (nodes / 2)});
  for (std::uint32_t n = 0; n < pu; ++n)
    if (!random.one_in(4)) machine.allowed.add(n);
  std::uint8_t bus = 0;
  const auto place = [&] {
    const auto node = static_cast<std::uint32_t>(random.below(nodes));
    return Locality{{100 + node, 200 + node * 10 + static_cast<std::uint32_t>(random.below(3))},
                    {node},
                    {node / (nodes / 2)}};
  };
  for (std::size_t n = random.below(7); n > 0; --n) machine.gpus.push_back({{0, ++bus, 0, 0}, {}, "", place()});
  for (std::size_t n = random.below(5); n > 0; --n) {
    Nic nic;
    nic.address = {0, ++bus, 0, 0};
    nic.name = "nic" + std::to_string(bus);
    nic.at = place();
    machine.nics.push_back(std::move(nic));
  }
  put_in_order(machine);
  return machine;
}

TEST(MakeMap, CoresAreDisjointAllowedAndWhole) {
  Random random;
  for (int i = 0; i < 300; ++i) {
    const Machine machine = some_machine(random);
    MapRequest request;
    request.ranks = static_cast<std::uint32_t>(random.between(1, 8));
    const auto map = make_map(machine, request);
    ASSERT_TRUE(map) << random;
    Bits taken;
    for (const MappedRank& rank : map->ranks) {
      ASSERT_FALSE(rank.pus.meets(taken)) << random;
      ASSERT_TRUE(rank.pus.is_within(machine.allowed)) << random;
      taken.add(rank.pus);
      for (const Core& core : machine.cores) {
        Bits usable = core.pus;
        usable.keep(machine.allowed);
        ASSERT_TRUE(!core.pus.meets(rank.pus) || usable.is_within(rank.pus)) << random;
      }
    }
  }
}

TEST(MakeMap, DoesNotDependOnTheOrderOfDiscovery) {
  Random random;
  for (int i = 0; i < 100; ++i) {
    const Machine machine = some_machine(random);
    MapRequest request;
    request.ranks = static_cast<std::uint32_t>(random.between(1, 8));
    Machine shuffled = machine;
    const auto shuffle = [&](auto& items) {
      for (std::size_t n = items.size(); n > 1; --n) std::swap(items[n - 1], items[random.below(n)]);
    };
    shuffle(shuffled.cores);
    shuffle(shuffled.gpus);
    shuffle(shuffled.nics);
    put_in_order(shuffled);
    const auto map = make_map(machine, request);
    ASSERT_TRUE(map) << random;
    ASSERT_THAT(make_map(shuffled, request), Holds(*map)) << random;
  }
}

Machine four_gpus() {
  Machine machine;
  for (std::uint32_t n = 0; n < 4; ++n) {
    machine.cores.push_back({Bits{n}, n / 2, n / 2});
    machine.gpus.push_back({{0, static_cast<std::uint8_t>(n), 0, 0}, {}, "", {{n}, {n / 2}, {n / 2}}});
    machine.allowed.add(n);
  }
  return machine;
}

std::vector<std::vector<std::uint32_t>> gpus_of(const NodeMap& map) {
  std::vector<std::vector<std::uint32_t>> gpus;
  for (const MappedRank& rank : map.ranks) gpus.push_back(rank.gpus);
  return gpus;
}

TEST(MakeMap, LocalRankHasTheGpuOfItsPlace) {
  using Gpus = std::vector<std::vector<std::uint32_t>>;
  const struct {
    std::uint32_t ranks;
    std::optional<std::uint32_t> each;
    Gpus gpus;
  } cases[] = {
      {4, {}, {{0}, {1}, {2}, {3}}}, {2, {}, {{0}, {1}}}, {2, 2, {{0, 1}, {2, 3}}},
      {1, {}, {{0, 1, 2, 3}}},       {1, 1, {{0}}},       {6, {}, {{0}, {1}, {2}, {3}, {0}, {1}}},
  };
  for (const auto& [ranks, each, gpus] : cases) {
    MapRequest request;
    request.ranks = ranks;
    request.gpus_per_rank = each;
    const auto map = make_map(four_gpus(), request);
    ASSERT_TRUE(map) << ranks;
    EXPECT_EQ(gpus_of(*map), gpus) << ranks;
  }
}

TEST(MakeMap, UnderIsolationTheGpusAreTheRanks) {
  MapRequest request;
  request.ranks = 2;
  request.gpus_of_rank = {{3}, {1}};
  const auto map = make_map(four_gpus(), request);
  ASSERT_TRUE(map);
  EXPECT_TRUE(map->isolated);
  EXPECT_EQ(map->gpus[map->ranks[0].gpus[0]].number, 3U);
  EXPECT_EQ(map->gpus[map->ranks[1].gpus[0]].number, 1U);
  EXPECT_EQ(map->ranks[0].memory_node, 1U);
}

TEST(MakeMap, CountsAmongTheGpusThatOpen) {
  MapRequest request;
  request.gpus = {{2, 3}};
  request.openable = {{1, 2, 3}};
  const auto map = make_map(four_gpus(), request);
  ASSERT_TRUE(map);
  EXPECT_EQ(map->gpus[0].index, 1U);
  EXPECT_EQ(map->gpus[1].index, 2U);
}

TEST(MakeMap, MoreGpusThanThereAreCannotBeHad) {
  MapRequest request;
  request.ranks = 3;
  request.gpus_per_rank = 2;
  EXPECT_THAT(make_map(four_gpus(), request),
              FailsWith(ErrorKind::invalid, "3 ranks with 2 GPUs each need more than the 4 there are"));
}

}  // namespace
}  // namespace pinstep
