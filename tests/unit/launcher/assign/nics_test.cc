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

// The largest machines there are, in the shapes that leave most choices open.
TEST(AssignNics, LargeMachinesStayWithinTheLimit) {
  const struct {
    std::size_t gpus, cards;
    std::size_t group;  // GPUs and cards of one memory node
    Level near;
  } cases[] = {{16, 16, 1, Level::pix}, {16, 8, 4, Level::phb},  {8, 10, 4, Level::phb}, {8, 8, 2, Level::pix},
               {16, 16, 4, Level::phb}, {16, 2, 2, Level::node}, {24, 4, 6, Level::pxb}, {8, 8, 8, Level::phb}};
  for (const auto& [gpus, cards, group, near] : cases) {
    Levels levels(gpus, std::vector<Level>(cards, Level::sys));
    for (std::size_t g = 0; g < gpus; ++g)
      for (std::size_t c = 0; c < cards; ++c)
        if (g / group == c * gpus / cards / group) levels[g][c] = near;
    const NicAssignment found = assign_nics(levels);
    EXPECT_TRUE(found.is_proven) << gpus << "x" << cards << " by " << group;
  }
}

}  // namespace
}  // namespace pinstep
