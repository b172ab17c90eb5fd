#include <algorithm>
#include <numeric>

#include "launcher/assign/assign.h"
#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing_support::Random;

struct Value {
  std::int64_t lost;
  std::uint32_t levels;
  std::uint32_t rails;
  std::vector<std::size_t> cards;
  auto operator<=>(const Value&) const = default;
};

// In units of 1/(20 * 720720): all loads up to 16.
Value value_of(const Levels& levels, const std::vector<std::size_t>& cards) {
  constexpr std::int64_t unit = 720720;
  Value value{0, 0, 0, cards};
  for (std::size_t gpu = 0; gpu < cards.size(); ++gpu) {
    const auto users = std::count(cards.begin(), cards.end(), cards[gpu]);
    const auto far = static_cast<std::size_t>(levels[gpu][cards[gpu]]);
    value.lost -= std::min(unit * kWeight[far] / kWeightUnit, unit / users);
    value.levels += static_cast<std::uint32_t>(far);
    value.rails += cards[gpu] != gpu * levels.front().size() / levels.size();
  }
  return value;
}

Value best_of_all(const Levels& levels) {
  const std::size_t cards = levels.front().size();
  std::vector<std::size_t> choice(levels.size(), 0);
  Value best = value_of(levels, choice);
  for (;;) {
    std::size_t digit = choice.size();
    while (digit > 0 && choice[digit - 1] + 1 == cards) choice[--digit] = 0;
    if (digit == 0) return best;
    ++choice[digit - 1];
    best = std::min(best, value_of(levels, choice));
  }
}

TEST(AssignNics, IsAsGoodAsTheBestOfAllAssignments) {
  Random random;
  for (int i = 0; i < 400; ++i) {
    const std::size_t gpus = random.between(1, 6);
    const std::size_t cards = random.between(1, gpus > 4 ? 4 : 6);
    const std::size_t most = random.between(1, kLevels);  // few levels: many equal cards
    Levels levels(gpus, std::vector<Level>(cards));
    for (auto& row : levels)
      for (Level& one : row) one = static_cast<Level>(kLevels - 1 - static_cast<int>(random.below(most)));
    const NicAssignment found = assign_nics(levels);
    ASSERT_TRUE(found.is_proven) << random;
    ASSERT_EQ(value_of(levels, found.nic), best_of_all(levels)) << random << gpus << "x" << cards;
  }
}

// Few kinds of cards, so that there are many equal ones, and more of them than GPUs.
TEST(AssignNics, IsAsGoodAsTheBestOfAllAmongEqualCards) {
  Random random;
  for (int i = 0; i < 300; ++i) {
    const std::size_t gpus = random.between(1, 5);
    const std::size_t cards = random.between(1, gpus > 4 ? 6 : 8);
    std::vector<std::vector<Level>> kinds(random.between(1, 3));
    for (auto& kind : kinds)
      for (std::size_t gpu = 0; gpu < gpus; ++gpu) kind.push_back(static_cast<Level>(random.below(kLevels)));
    Levels levels(gpus);
    for (std::size_t card = 0; card < cards; ++card) {
      const auto& kind = kinds[random.below(kinds.size())];
      for (std::size_t gpu = 0; gpu < gpus; ++gpu) levels[gpu].push_back(kind[gpu]);
    }
    const NicAssignment found = assign_nics(levels);
    ASSERT_TRUE(found.is_proven) << random;
    ASSERT_EQ(value_of(levels, found.nic), best_of_all(levels)) << random << gpus << "x" << cards;
  }
}

TEST(AssignNics, DoesNotTakeTheNearestCardForAll) {
  const Level n = Level::node, s = Level::sys;
  const Levels lassen{{n, n, s, s}, {n, n, s, s}, {s, s, n, n}, {s, s, n, n}};
  const NicAssignment found = assign_nics(lassen);
  EXPECT_THAT(found.nic, ElementsAre(0U, 1U, 2U, 3U));
  EXPECT_EQ(found.bandwidth * 100, found.unit * 280);
}

TEST(AssignNics, GoesFarWhereThatIsBetter) {
  // Both near card 0: sharing it gives 1, going far 1.45.
  const Levels two{{Level::pix, Level::sys}, {Level::pix, Level::sys}};
  EXPECT_THAT(assign_nics(two).nic, ElementsAre(0U, 1U));
  // Two on the far card lose nothing by its distance: 1 + 2 * 0.5.
  const Levels three(3, {Level::pix, Level::phb});
  EXPECT_THAT(assign_nics(three).nic, ElementsAre(0U, 1U, 1U));
}

TEST(AssignNics, NothingForNothing) {
  EXPECT_TRUE(assign_nics({}).nic.empty());
  EXPECT_TRUE(assign_nics({{}, {}}).nic.empty());
}

// GPUs and cards in equal groups, below one switch or of one memory node.
Levels in_groups(std::size_t gpus, std::size_t cards, std::size_t groups, Level near) {
  Levels levels(gpus, std::vector<Level>(cards, Level::sys));
  for (std::size_t g = 0; g < gpus; ++g)
    for (std::size_t c = 0; c < cards; ++c)
      if (g * groups / gpus == c * groups / cards) levels[g][c] = near;
  return levels;
}

// The largest machines there are, in the shapes that leave most choices open.
TEST(AssignNics, LargeMachinesStayWithinTheLimit) {
  const struct {
    std::size_t gpus, cards, groups;
    Level near;
  } cases[] = {
      {16, 16, 16, Level::pix}, {16, 8, 4, Level::phb},  {8, 8, 4, Level::pix},   {16, 16, 4, Level::phb},
      {16, 2, 1, Level::node},  {24, 4, 2, Level::pxb},  {8, 8, 1, Level::phb},   {8, 32, 1, Level::phb},
      {8, 40, 1, Level::phb},   {16, 32, 1, Level::pix}, {8, 64, 1, Level::sys},  {32, 64, 1, Level::phb},
      {32, 64, 1, Level::sys},  {8, 64, 8, Level::pix},  {16, 32, 2, Level::phb}, {32, 64, 16, Level::pxb},
      {32, 64, 2, Level::node}, {32, 8, 1, Level::pix},  {32, 16, 8, Level::pix}, {32, 24, 2, Level::phb}};
  for (const auto& [gpus, cards, groups, near] : cases) {
    const NicAssignment found = assign_nics(in_groups(gpus, cards, groups, near));
    EXPECT_TRUE(found.is_proven) << gpus << "x" << cards << " in " << groups;
    EXPECT_EQ(found.rail_mismatch, 0U) << gpus << "x" << cards << " in " << groups;
  }
}

// A virtual machine that hides its bus may have the cards in another order than the GPUs beside them: then the
// rails are not what decides first. 8 groups of a GPU and 8 cards, group i of the cards beside GPU 7 - i.
TEST(AssignNics, CardsInAnotherOrderStayWithinTheLimit) {
  Levels levels = in_groups(8, 64, 8, Level::pix);
  std::reverse(levels.begin(), levels.end());
  const NicAssignment found = assign_nics(levels);
  EXPECT_TRUE(found.is_proven);
  EXPECT_EQ(found.bandwidth, 8 * found.unit);
  EXPECT_THAT(found.nic, ElementsAre(56U, 48U, 40U, 32U, 24U, 16U, 8U, 0U));
}

// The bus order of more cards than fit into one number.
TEST(AssignNics, BusOrderIsThatOfAllGpus) {
  Levels levels(32, std::vector<Level>(64, Level::pix));
  for (auto& row : levels) row.front() = Level::pxb;  // GPU 0 is off its rail
  const NicAssignment found = assign_nics(levels);
  EXPECT_TRUE(found.is_proven);
  EXPECT_EQ(found.rail_mismatch, 1U);
  std::vector<std::size_t> cards{1};
  for (std::size_t gpu = 1; gpu < 32; ++gpu) cards.push_back(2 * gpu);
  EXPECT_EQ(found.nic, cards);
}

TEST(AssignNics, ASearchThatEndsAtItsLimitSaysSo) {
  Random random;
  Levels levels(14, std::vector<Level>(28));
  for (auto& row : levels)
    for (Level& one : row) one = static_cast<Level>(random.below(kLevels));
  const NicAssignment found = assign_nics(levels, 10'000);
  EXPECT_FALSE(found.is_proven) << random;
  EXPECT_EQ(found.nic.size(), 14U);
}

}  // namespace
}  // namespace pinstep
