#include "envtools/build/progress.h"

#include <gtest/gtest.h>

#include "tests/unit/support/clock.h"

namespace pinstep {
namespace {

using std::chrono::milliseconds;
using testing_support::FakeClock;

// What is printed while `seconds` seconds go by in tenths, with a word on how far it is at each.
std::string printed(Progress::Style style, bool stages, int seconds) {
  FakeClock clock;
  testing::internal::CaptureStderr();
  {
    Progress progress(style, stages, clock);
    progress.stage("fetch");
    for (int tenth = 0; tenth < seconds * 10; ++tenth) {
      progress.now("at " + std::to_string(tenth));
      clock.sleep(milliseconds(100));
    }
    progress.say("waiting");
  }
  return testing::internal::GetCapturedStderr();
}

TEST(BuildProgress, OfAShortBuildSaysNothingInALog) {
  EXPECT_EQ(printed(Progress::Style::lines, false, 29), "pinstep: waiting\n");
}

TEST(BuildProgress, OfALongBuildIsALineEvery30Seconds) {
  EXPECT_EQ(printed(Progress::Style::lines, false, 70), "pinstep: at 300\npinstep: at 600\npinstep: waiting\n");
}

TEST(BuildProgress, OnATerminalIsALineThatIsGoneAtTheEnd) {
  const std::string text = printed(Progress::Style::terminal, false, 1);
  EXPECT_TRUE(text.starts_with("\r\033[Kat 0\r\033[Kat 1")) << text;
  EXPECT_TRUE(text.ends_with("at 9\r\033[Kpinstep: waiting\n")) << text;
}

TEST(BuildProgress, NamesTheStagesWhereAsked) {
  EXPECT_EQ(printed(Progress::Style::lines, true, 0), "pinstep: stage: fetch\npinstep: waiting\n");
}

TEST(BuildProgress, IsSilentWhereAsked) { EXPECT_EQ(printed(Progress::Style::quiet, false, 60), ""); }

}  // namespace
}  // namespace pinstep
