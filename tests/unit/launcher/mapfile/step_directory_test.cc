#include "launcher/mapfile/step_directory.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tests/unit/support/clock.h"
#include "tests/unit/support/files.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing_support::Holds;
using testing_support::Succeeds;
using testing_support::TemporaryDirectory;
using testing_support::write_file;

constexpr Clock::Milliseconds kPatience{100};

bool is_there(const std::string& path) { return ::access(path.c_str(), F_OK) == 0; }

void age(const std::string& path) {
  const timespec old[2] = {{1000000000, 0}, {1000000000, 0}};
  ASSERT_EQ(::utimensat(AT_FDCWD, path.c_str(), old, 0), 0);
}

TEST(UserDirectory, IsTheFirstThatIsTheUsersAlone) {
  const TemporaryDirectory work;
  ASSERT_EQ(::mkdir((work / "a").c_str(), 0755), 0);
  ASSERT_EQ(::mkdir((work / "b").c_str(), 0755), 0);
  const std::string mine = "/pinstep-" + std::to_string(::getuid());
  EXPECT_THAT(user_directory({work / "absent", work / "a"}, ::getuid()), Holds(work / "a" + mine));
  EXPECT_THAT(user_directory({work / "a"}, ::getuid()), Holds(work / "a" + mine));
  ASSERT_EQ(::chmod((work / "a" + mine).c_str(), 0770), 0);
  EXPECT_THAT(user_directory({work / "a", work / "b"}, ::getuid()), Holds(work / "b" + mine));
  const auto refused = user_directory({work / "a"}, ::getuid());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::refused);
}

TEST(UserDirectory, ModesDoNotComeFromTheUmask) {
  const TemporaryDirectory work;
  const mode_t before = ::umask(0777);
  const auto top = user_directory({work.path()}, ::getuid());
  const auto step = StepDirectory::enter(*top, "c.1.0.0", "inputs");
  const auto said = step->report(0, "0 - -");
  const auto published = step->publish("the map\nend\n");
  EXPECT_EQ(::umask(before), 0777U);
  EXPECT_THAT(said, Succeeds());
  EXPECT_THAT(published, Succeeds());
  struct stat info {};
  for (const auto& [path, mode] :
       {std::pair{*top, 0700U}, {step->path(), 0700U}, {step->path() + "/map", 0600U}}) {
    ASSERT_EQ(::stat(path.c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777, mode) << path;
  }
}

TEST(UserDirectory, OneThatAnUmaskHasClosedIsOpenedAgain) {
  const TemporaryDirectory work;
  const std::string mine = work / ("pinstep-" + std::to_string(::getuid()));
  ASSERT_EQ(::mkdir(mine.c_str(), 0), 0);
  EXPECT_THAT(user_directory({work.path()}, ::getuid()), Holds(mine));
  struct stat info {};
  ASSERT_EQ(::stat(mine.c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777, 0700U);
}

TEST(StepDirectory, OneRankSpeaksForAll) {
  const TemporaryDirectory work;
  const auto first = StepDirectory::enter(work.path(), "c.1.0.0", "inputs");
  const auto second = StepDirectory::enter(work.path(), "c.1.0.0", "inputs");
  const auto other = StepDirectory::enter(work.path(), "c.1.0.0", "others");
  EXPECT_EQ(second->claim("unbound"), true);
  EXPECT_EQ(first->claim("unbound"), false);
  EXPECT_EQ(first->claim("no-map"), true);
  EXPECT_EQ(other->claim("unbound"), true);
}

TEST(UserDirectory, IsNoLink) {
  const TemporaryDirectory work;
  ASSERT_EQ(::symlink("/", (work / "pinstep-" + std::to_string(::getuid())).c_str()), 0);
  EXPECT_FALSE(user_directory({work.path()}, ::getuid()));
}

TEST(StepDirectory, OneRankIsFirstAndAllReadItsMap) {
  const TemporaryDirectory work;
  testing_support::FakeClock clock;
  const auto first = StepDirectory::enter(work.path(), "c.1.0.0", "inputs");
  const auto second = StepDirectory::enter(work.path(), "c.1.0.0", "inputs");
  const auto other = StepDirectory::enter(work.path(), "c.1.0.0", "others");
  ASSERT_TRUE(first && second && other);
  EXPECT_TRUE(first->is_first() && !second->is_first() && !other->is_first());
  EXPECT_EQ(second->wait(clock, kPatience), std::nullopt);
  ASSERT_THAT(first->publish("the map\nend\n"), Succeeds());
  EXPECT_EQ(second->wait(clock, kPatience), "the map\nend\n");
  EXPECT_EQ(first->find(), "the map\nend\n");
  EXPECT_EQ(other->wait(clock, kPatience), std::nullopt);
}

TEST(StepDirectory, ReportsOfAllRanks) {
  const TemporaryDirectory work;
  testing_support::FakeClock clock;
  const auto step = StepDirectory::enter(work.path(), "c.1.0.0", "");
  ASSERT_TRUE(step);
  ASSERT_THAT(step->report(1, "one"), Succeeds());
  const auto missing = step->reports(2, clock, kPatience);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().kind, ErrorKind::timed_out);
  ASSERT_THAT(step->report(0, "zero"), Succeeds());
  EXPECT_THAT(step->reports(2, clock, kPatience), Holds(ElementsAre("zero", "one")));
}

TEST(StepDirectory, WhatEndedStepsLeftIsRemoved) {
  const TemporaryDirectory work;
  const std::string boot = boot_id();
  const auto step = [&](const std::string& name, const std::string& header) {
    write_file(work / name + "/map", header + "\nend\n");
    age(work / name);
  };
  step("running", "boot=" + boot + " pid=" + std::to_string(::getpid()) + " inputs=0");
  step("ended", "boot=" + boot + " pid=4194305 inputs=0");
  step("rebooted", "boot=other pid=" + std::to_string(::getpid()) + " inputs=0");
  write_file(work / "beginning/rank.0", "");
  remove_stale(work.path(), boot);
  EXPECT_TRUE(is_there(work / "running/map"));
  EXPECT_FALSE(is_there(work / "ended"));
  EXPECT_FALSE(is_there(work / "rebooted"));
  EXPECT_TRUE(is_there(work / "beginning"));
}

}  // namespace
}  // namespace pinstep
