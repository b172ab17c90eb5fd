#include "launcher/assign/rules.h"

#include <algorithm>
#include <map>

#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing_support::Random;

constexpr Level x = Level::pix, b = Level::phb, n = Level::node, p = Level::pkg, s = Level::sys;

std::vector<std::size_t> chosen(std::string_view name, const Levels& levels,
                                std::vector<std::uint32_t> devices) {
  for (const CardRule& rule : card_rules())
    if (rule.name == name) return rule.choose(levels, devices);
  ADD_FAILURE() << "no rule " << name;
  return {};
}

TEST(CardRules, ChooseAsDescribed) {
  const Levels pairs{{n, n, s, s}, {n, n, s, s}, {s, s, n, n}, {s, s, n, n}};
  const Levels mixed{{x, b, s}, {b, n, s}, {s, p, s}};
  using Cards = std::vector<std::size_t>;
  const struct {
    std::string_view rule;
    Levels levels;
    std::vector<std::uint32_t> devices;
    Cards cards;
  } cases[] = {
      {"round-robin", {{x, x}, {x, x}, {x, x}}, {0, 1, 2}, {0, 1, 0}},
      {"block", {{x, x}, {x, x}, {x, x}, {x, x}}, {0, 1, 2, 3}, {0, 0, 1, 1}},
      {"nearest", pairs, {0, 1, 2, 3}, {0, 0, 2, 2}},
      {"nearest", mixed, {0, 1, 2}, {0, 0, 1}},
      {"nccl", pairs, {0, 1, 2, 3}, {0, 1, 2, 3}},
      {"nccl-isolated", pairs, {0, 1, 2, 3}, {0, 0, 2, 2}},
      // The memory node counts as the host bridge, the package as nothing.
      {"nccl", mixed, {0, 1, 1}, {0, 1, 1}},
      // A power of two: the number's bits in reverse, 0 2 1 3. Else the number as it is.
      {"nccl", {4, {b, b, b, b}}, {0, 1, 2, 3}, {0, 2, 1, 3}},
      {"nccl", {4, {b, b, b}}, {0, 1, 2, 3}, {0, 1, 2, 0}},
      {"nccl", {2, {b, b}}, {6, 7}, {0, 1}},
  };
  for (const auto& [rule, levels, devices, cards] : cases)
    EXPECT_EQ(chosen(rule, levels, devices), cards) << rule << levels.size() << "x" << levels.front().size();
}

TEST(CardRules, AreNeverBetterThanTheMap) {
  Random random;
  for (int i = 0; i < 300; ++i) {
    Levels levels(random.between(1, 8), std::vector<Level>(random.between(1, 6)));
    std::vector<std::uint32_t> devices;
    for (auto& row : levels) {
      for (Level& one : row) one = static_cast<Level>(random.below(kLevels));
      devices.push_back(static_cast<std::uint32_t>(devices.size()));
    }
    const NicAssignment best = assign_nics(levels);
    for (const CardRule& rule : card_rules()) {
      const NicAssignment other = value_nics(levels, rule.choose(levels, devices));
      ASSERT_LE(other.bandwidth, best.bandwidth) << rule.name << random;
      ASSERT_TRUE(other.bandwidth < best.bandwidth || other.level_cost >= best.level_cost)
          << rule.name << random;
    }
  }
}

TEST(LinearCores, CountsNodesFromZeroWhateverTheyAreCalled) {
  const std::vector<CoreGroup> two{{0, 0, 4}, {8, 1, 4}};
  EXPECT_EQ(linear_cores_off(two, {Bits{0}, Bits{0}, Bits{8}, Bits{8}}), 2U);  // there is no node 1
  const std::vector<CoreGroup> four{{0, 0, 4}, {1, 0, 4}, {2, 1, 4}, {3, 1, 4}};
  EXPECT_EQ(linear_cores_off(four, {Bits{3}, Bits{1}, Bits{2}, Bits{0}}), 2U);
  EXPECT_EQ(linear_cores_off(four, {Bits{0}, Bits{1}, Bits{}}), 0U);
  EXPECT_EQ(linear_cores_off({}, {Bits{0}}), 0U);
}

}  // namespace
}  // namespace pinstep
