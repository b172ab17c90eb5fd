#include "envtools/base/clock.h"

#include <gtest/gtest.h>

namespace pinstep {
namespace {

TEST(SystemClock, SleepsAtLeastAsLongAsAsked) {
  SystemClock clock;
  const auto start = clock.now();
  clock.sleep(Clock::Milliseconds(20));
  EXPECT_GE(clock.now() - start, Clock::Milliseconds(19));  // now() counts whole milliseconds
}

TEST(SystemClock, DoesNotSleepForNoTime) {
  SystemClock clock;
  const auto start = clock.now();
  clock.sleep(Clock::Milliseconds(0));
  EXPECT_LT(clock.now() - start, Clock::Milliseconds(1000));
}

}  // namespace
}  // namespace pinstep
