#include "launcher/mapfile/node_map.h"

#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing_support::FailsWith;
using testing_support::Holds;
using testing_support::Random;

NodeMap some_map(Random& random) {
  const auto number = [&] { return static_cast<std::uint32_t>(random.below(100)); };
  const auto text = [&] { return random.one_in(4) ? "-" : random.bytes(0, 12); };
  const auto bits = [&] {
    Bits bits;
    for (std::size_t n = random.below(5); n > 0; --n) bits.add(number());
    return bits;
  };
  NodeMap map;
  for (std::size_t n = random.below(5); n > 0; --n)
    map.gpus.push_back({{number(), static_cast<std::uint8_t>(number()), 1, 2},
                        random.one_in(2) ? Vendor::nvidia : Vendor::amd,
                        number(),
                        number(),
                        text(),
                        bits(),
                        text(),
                        static_cast<Level>(random.below(kLevels))});
  for (std::size_t n = random.below(3); n > 0; --n)
    map.nics.push_back({text(), static_cast<Network>(random.below(3)), random.one_in(2)});
  for (std::size_t n = random.below(3); n > 0; --n) map.dropped.push_back({text(), text()});
  for (std::size_t n = random.below(3); n > 0; --n) map.notes.push_back(text());
  for (std::size_t n = random.below(4); n > 0; --n) {
    map.ranks.push_back({{}, bits(), number(), {}});
    if (random.one_in(2)) map.ranks.back().memory_node = number();
    if (!map.gpus.empty())
      map.ranks.back().gpus.push_back(static_cast<std::uint32_t>(random.below(map.gpus.size())));
  }
  map.isolated = random.one_in(2);
  map.node_cores = number();
  map.node_gpus = number();
  map.threads_per_core = number();
  map.bandwidth = number();
  map.bandwidth_unit = 1 + number();
  map.level_cost = number();
  map.off = number();
  map.cores = number();
  map.spread = number();
  map.rail_mismatch = number();
  map.is_proven = random.one_in(2);
  for (std::size_t n = random.below(3); n > 0; --n) {
    RuleScore score{text(), {}, {}};
    if (random.one_in(2)) score.cards = CardScore{number(), 1 + number(), number(), {}, number()};
    if (score.cards) score.cards->gpus_at[random.below(kLevels)] = number();
    if (random.one_in(2)) score.off = number();
    map.scores.push_back(std::move(score));
  }
  return map;
}

TEST(NodeMap, IsReadAsItWasWritten) {
  Random random;
  for (int i = 0; i < 500; ++i) {
    const NodeMap map = some_map(random);
    ASSERT_THAT(parse_map(write_map(map)), Holds(map)) << random << write_map(map);
  }
}

TEST(NodeMap, CutOrChangedIsReadAsAMapOrRefused) {
  Random random;
  for (int i = 0; i < 500; ++i) {
    std::string text = write_map(some_map(random));
    ASSERT_FALSE(parse_map(text.substr(0, random.below(text.size())))) << random;
    text[random.below(text.size())] = static_cast<char>(random.below(256));
    const auto map = parse_map(text);
    if (!map) continue;
    for (const MappedRank& rank : map->ranks)
      for (const std::uint32_t gpu : rank.gpus) ASSERT_LT(gpu, map->gpus.size()) << random;
    ASSERT_GT(map->bandwidth_unit, 0) << random;
    for (const RuleScore& score : map->scores)
      ASSERT_GT(score.cards.value_or(CardScore()).bandwidth_unit, 0) << random;
  }
}

TEST(NodeMap, SaysWhatIsWrong) {
  EXPECT_THAT(parse_map(""), FailsWith(ErrorKind::corrupt, "the map is cut short"));
  EXPECT_THAT(parse_map("pinstep-map 2\nend\n"), FailsWith(ErrorKind::unsupported, "the map is of version 2"));
  EXPECT_THAT(parse_map("pinstep-map 1\noff x\nend\n"),
              FailsWith(ErrorKind::corrupt, "line 2 of the map cannot be read"));
}

}  // namespace
}  // namespace pinstep
