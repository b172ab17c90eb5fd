#include <algorithm>
#include <functional>

#include "launcher/assign/assign.h"
#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing_support::Random;

// The best of all ways to deal at most so many: (off, -dealt, spread).
std::array<long, 3> best_of_all(const std::vector<CoreGroup>& groups, const std::vector<Bits>& homes,
                                long most_dealt) {
  std::array<long, 3> best{1000, 0, 0};
  std::vector<std::size_t> left;
  for (const CoreGroup& group : groups) left.push_back(group.cores);
  std::vector<std::size_t> counts(homes.size(), 0);
  std::vector<bool> off(homes.size(), false);
  const std::function<void(std::size_t, std::size_t)> deal = [&](std::size_t rank, std::size_t group) {
    if (rank == homes.size()) {
      const auto [fewest, most] = std::minmax_element(counts.begin(), counts.end());
      if (*fewest == 0) return;
      long dealt = 0;
      for (const std::size_t count : counts) dealt += static_cast<long>(count);
      if (dealt > most_dealt) return;
      best = std::min(best,
                      {std::count(off.begin(), off.end(), true), -dealt, static_cast<long>(*most - *fewest)});
      return;
    }
    if (group == groups.size()) return deal(rank + 1, 0);
    const bool was_off = off[rank];
    for (std::size_t take = 0, have = left[group]; take <= have; ++take) {
      counts[rank] += take, left[group] -= take;
      off[rank] = was_off || (take > 0 && !homes[rank].empty() && !homes[rank].has(groups[group].node));
      deal(rank, group + 1);
      counts[rank] -= take, left[group] += take;
    }
    off[rank] = was_off;
  };
  deal(0, 0);
  return best;
}

TEST(ShareCores, IsAsGoodAsTheBestOfAllWays) {
  Random random;
  for (int i = 0; i < 300; ++i) {
    std::vector<CoreGroup> groups(random.between(1, 3));
    std::size_t cores = 0;
    for (std::uint32_t g = 0; g < groups.size(); ++g) {
      groups[g] = {g, 0, random.below(5)};
      cores += groups[g].cores;
    }
    std::vector<Bits> homes(random.between(1, 3));
    for (Bits& home : homes) home.add(static_cast<std::uint32_t>(random.below(groups.size())));
    const std::size_t kept = random.one_in(2) ? 0 : random.below(5);
    const auto found = share_cores(groups, homes, kept);
    ASSERT_EQ(found.has_value(), cores >= homes.size() + kept) << random;
    if (!found) continue;
    const auto best = best_of_all(groups, homes, static_cast<long>(cores - kept));
    ASSERT_THAT(best, ElementsAre(found->off, -static_cast<long>(found->dealt), found->spread)) << random << i;
  }
}

TEST(ShareCores, GivesNoCoreTwice) {
  Random random;
  for (int i = 0; i < 300; ++i) {
    std::vector<CoreGroup> groups(random.between(1, 8));
    for (std::uint32_t g = 0; g < groups.size(); ++g) groups[g] = {g, g / 4, random.below(20)};
    std::vector<Bits> homes(random.between(1, 16));
    for (Bits& home : homes)
      for (std::size_t n = random.below(3); n > 0; --n) home.add(static_cast<std::uint32_t>(random.below(8)));
    const auto found = share_cores(groups, homes);
    if (!found) continue;
    for (std::size_t g = 0; g < groups.size(); ++g) {
      std::size_t taken = 0;
      for (const auto& shares : found->shares) taken += shares[g];
      ASSERT_LE(taken, groups[g].cores) << random;
    }
    for (const auto& shares : found->shares)
      ASSERT_TRUE(std::any_of(shares.begin(), shares.end(), [](std::size_t n) { return n > 0; })) << random;
  }
}

TEST(ShareCores, RanksThatAreOffDoNotMixMoreThanTheyMust) {
  const auto found = share_cores({{0, 0, 4}, {1, 0, 4}}, {Bits{7}, Bits{7}});
  ASSERT_TRUE(found);
  EXPECT_THAT(found->shares, ElementsAre(ElementsAre(4U, 0U), ElementsAre(0U, 4U)));
  Random random;
  for (int i = 0; i < 200; ++i) {
    std::vector<CoreGroup> groups(random.between(2, 5));
    for (std::uint32_t g = 0; g < groups.size(); ++g) groups[g] = {g, 0, random.below(12)};
    std::vector<Bits> homes(random.between(2, 6));
    for (Bits& home : homes)
      for (std::size_t n = random.between(1, 3); n > 0; --n)
        home.add(static_cast<std::uint32_t>(random.below(6)));
    const auto shared = share_cores(groups, homes);
    if (!shared) continue;
    const auto& shares = shared->shares;
    for (std::size_t a = 0; a < shares.size(); ++a)
      for (std::size_t b = a + 1; b < shares.size(); ++b) {
        std::size_t common = 0;
        for (std::size_t g = 0; g < groups.size(); ++g) common += shares[a][g] > 0 && shares[b][g] > 0;
        ASSERT_LE(common, 1U) << random;
      }
  }
}

TEST(ShareCores, RanksWithoutGpusGetNeighbouringCores) {
  const auto found = share_cores({{0, 0, 4}, {1, 0, 4}}, std::vector<Bits>(3));
  ASSERT_TRUE(found);
  EXPECT_THAT(found->shares, ElementsAre(ElementsAre(2U, 0U), ElementsAre(2U, 1U), ElementsAre(0U, 3U)));
}

TEST(ShareCores, KeptCoresAreTheFirst) {
  const auto idle = share_cores({{0, 0, 4}, {1, 0, 4}}, std::vector<Bits>(3), 5);
  ASSERT_TRUE(idle);
  EXPECT_THAT(idle->shares, ElementsAre(ElementsAre(0U, 1U), ElementsAre(0U, 1U), ElementsAre(0U, 1U)));
  const auto at_home = share_cores({{0, 0, 4}, {1, 0, 4}}, {Bits{0}, Bits{1}}, 1);
  ASSERT_TRUE(at_home);
  EXPECT_THAT(at_home->shares, ElementsAre(ElementsAre(3U, 0U), ElementsAre(0U, 4U)));
}

TEST(ShareCores, CoresThatNoRankCanHaveAreKeptFirst) {
  const auto found = share_cores({{0, 0, 4}, {1, 0, 4}}, {Bits{0}}, 4);
  ASSERT_TRUE(found);
  EXPECT_THAT(found->shares, ElementsAre(ElementsAre(4U, 0U)));
}

TEST(ShareCores, FewerCoresThanRanksAreNotShared) {
  EXPECT_FALSE(share_cores({{0, 0, 2}}, std::vector<Bits>(2), 1));
  EXPECT_FALSE(share_cores({{0, 0, 1}}, std::vector<Bits>(2)));
}

}  // namespace
}  // namespace pinstep
