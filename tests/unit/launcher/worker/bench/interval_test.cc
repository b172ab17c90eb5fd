#include "launcher/worker/bench/interval.h"

#include <gtest/gtest.h>

#include <numeric>

namespace pinstep::worker {
namespace {

std::vector<double> up_to(std::size_t count) {
  std::vector<double> values(count);
  std::iota(values.rbegin(), values.rend(), 1);
  return values;
}

TEST(Interval, MedianOfEvenAndOdd) {
  EXPECT_EQ(median({3}), 3);
  EXPECT_EQ(median({5, 1, 3}), 3);
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
}

TEST(Interval, BoundsAreThoseOfTheSignTest) {
  // Tables of the sign test at 5 %, two-sided: the k-th smallest and largest of n.
  const struct {
    std::size_t count, k;
  } cases[] = {{6, 1}, {8, 1}, {9, 2}, {15, 4}, {20, 6}, {25, 8}, {100, 40}};
  for (const auto& [count, k] : cases) {
    const auto interval = median_interval(up_to(count));
    ASSERT_TRUE(interval) << count;
    EXPECT_EQ(interval->low, static_cast<double>(k)) << count;
    EXPECT_EQ(interval->high, static_cast<double>(count + 1 - k)) << count;
  }
  EXPECT_TRUE(median_interval(up_to(2000)));
}

TEST(Interval, TooFewValuesHaveNone) {
  for (std::size_t count = 0; count < 6; ++count) EXPECT_EQ(median_interval(up_to(count)), std::nullopt);
}

}  // namespace
}  // namespace pinstep::worker
