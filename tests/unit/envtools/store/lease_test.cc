#include "envtools/store/lease.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <filesystem>
#include <thread>

#include "envtools/base/fd.h"
#include "tests/unit/support/child.h"
#include "tests/unit/support/files.h"

namespace pinstep {
namespace {

using namespace std::chrono_literals;
using testing_support::TemporaryDirectory;
using testing_support::write_file;

constexpr LeaseTimes kQuick{20ms, 300ms, 5ms};

const auto kNever = [] { return false; };
const auto kQuiet = [](const std::string&) {};

std::unique_ptr<Lease> take(const std::string& path) {
  auto lease = LeaseTaker::take(path, kQuick, kNever, kQuiet);
  EXPECT_TRUE(lease) << lease.error().cause;
  return lease ? std::move(*lease) : nullptr;
}

bool is_empty(const std::string& directory) { return std::filesystem::is_empty(directory); }

TEST(Lease, IsHeldUntilGivenBackAndLeavesNothing) {
  const TemporaryDirectory directory;
  {
    const auto lease = take(directory / "x");
    EXPECT_TRUE(lease->held());
    EXPECT_FALSE(is_abandoned(directory / "x"));
  }
  EXPECT_TRUE(is_abandoned(directory / "x"));
  EXPECT_TRUE(is_empty(directory.path()));
}

TEST(Lease, IsNotTakenWhereTheWorkIsDone) {
  const TemporaryDirectory directory;
  const auto lease = LeaseTaker::take(
      directory / "x", kQuick, [] { return true; }, kQuiet);
  ASSERT_TRUE(lease);
  EXPECT_EQ(*lease, nullptr);
}

TEST(Lease, LetsOthersWaitForTheResultAndSaysWhoHasIt) {
  const TemporaryDirectory directory;
  std::atomic<bool> done = false;
  std::atomic<int> waits = 0;
  auto lease = take(directory / "x");
  std::string holder;
  std::thread other([&] {
    const auto second = LeaseTaker::take(
        directory / "x", kQuick, [&] { return done.load(); },
        [&](const std::string& who) { holder = who, ++waits; });
    EXPECT_TRUE(second && *second == nullptr);
  });
  while (waits == 0) std::this_thread::sleep_for(1ms);
  std::this_thread::sleep_for(2 * kQuick.dead_after);  // a beating heart is not taken for dead
  done = true;
  other.join();
  EXPECT_EQ(waits, 1);
  EXPECT_NE(holder.find(" " + std::to_string(::getpid()) + " "), std::string::npos) << holder;
  EXPECT_TRUE(lease->held());
}

// A killed process: nothing of it runs, so nothing is given back.
enum class Reaped { no, yes };
pid_t killed_holder(const std::string& path, Reaped reaped = Reaped::yes) {
  int ends[2];
  EXPECT_EQ(::pipe(ends), 0);
  const pid_t child = ::fork();
  if (child == 0) {
    const auto lease = LeaseTaker::take(path, kQuick, kNever, kQuiet);
    write_message(ends[1], "x");
    ::pause();
    ::_exit(0);
  }
  char byte;
  EXPECT_EQ(::read(ends[0], &byte, 1), 1);
  ::close(ends[0]);
  ::close(ends[1]);
  ::kill(child, SIGKILL);
  siginfo_t ended{};
  ::waitid(P_PID, static_cast<id_t>(child), &ended, WEXITED | (reaped == Reaped::yes ? 0 : WNOWAIT));
  return child;
}

TEST(Lease, OfAProcessThatIsGoneIsTakenAtOnce) {
  const TemporaryDirectory directory;
  killed_holder(directory / "x");
  EXPECT_TRUE(is_abandoned(directory / "x"));
  const auto before = std::chrono::steady_clock::now();
  const auto lease = take(directory / "x");
  EXPECT_TRUE(lease->held());
  EXPECT_LT(std::chrono::steady_clock::now() - before, kQuick.dead_after);
}

TEST(Lease, OfAnotherMachineIsTakenWhenItsHeartHasStopped) {
  const TemporaryDirectory directory;
  write_file(directory / "x/0123456789abcdef", "elsewhere 1 bob\naaaaaaaaaaaaaaaa-1 1\n7\n");
  EXPECT_FALSE(is_abandoned(directory / "x"));
  const auto before = std::chrono::steady_clock::now();
  const auto lease = take(directory / "x");
  EXPECT_TRUE(lease->held());
  EXPECT_GE(std::chrono::steady_clock::now() - before, kQuick.dead_after);
}

TEST(Lease, TakenFromASleeperIsNotGivenBackByHim) {
  const TemporaryDirectory directory;
  auto sleeper = take(directory / "x");
  // What a taker does that took him for dead.
  for (const auto& entry : std::filesystem::directory_iterator(directory / "x"))
    std::filesystem::remove(entry.path());
  const auto taker = take(directory / "x");
  EXPECT_FALSE(sleeper->held());
  sleeper.reset();
  EXPECT_TRUE(taker->held());
}

TEST(Lease, OfTheDeadIsTakenByOneOfMany) {
  const TemporaryDirectory directory;
  for (int round = 0; round < 20; ++round) {
    const std::string path = directory / ("x" + std::to_string(round));
    killed_holder(path);
    std::atomic<int> holders = 0;
    std::atomic<int> most = 0;
    std::vector<std::thread> threads;
    const LeaseTimes times{2s, 30s, 1ms};
    for (int i = 0; i < 8; ++i)
      threads.emplace_back([&] {
        const auto lease = LeaseTaker::take(
            path, times, [&] { return most.load() != 0; }, kQuiet);
        ASSERT_TRUE(lease);
        if (*lease == nullptr) return;
        ++holders;
        most = 1;
      });
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(holders, 1);
  }
}

TEST(Lease, OfAZombieIsTakenAtOnce) {
  const TemporaryDirectory directory;
  const pid_t child = killed_holder(directory / "x", Reaped::no);
  EXPECT_TRUE(is_abandoned(directory / "x"));
  const auto before = std::chrono::steady_clock::now();
  const auto lease = take(directory / "x");
  EXPECT_LT(std::chrono::steady_clock::now() - before, kQuick.dead_after);
  ::waitpid(child, nullptr, 0);
}

TEST(Lease, WaitsForWhateverIsInTheWayAndThenRemovesIt) {
  const TemporaryDirectory directory;
  for (const char* name : {".nfs0001", "stranger"}) {
    write_file(directory / "x/" + name, "");
    EXPECT_FALSE(is_abandoned(directory / "x"));
    const auto before = std::chrono::steady_clock::now();
    const auto lease = take(directory / "x");
    EXPECT_TRUE(lease->held());
    EXPECT_GE(std::chrono::steady_clock::now() - before, kQuick.dead_after);
  }
  EXPECT_TRUE(is_empty(directory.path()));
}

TEST(Lease, ThatIsDeadAndCannotBeRemovedIsAnError) {
  const TemporaryDirectory directory;
  write_file(directory / "x/directory/file", "");  // as a file of somebody else, but for root too
  std::atomic<int> waits = 0;
  const auto lease = LeaseTaker::take(directory / "x", kQuick, kNever, [&](const std::string&) { ++waits; });
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().cause.find("cannot remove '" + (directory / "x/directory'")), 0U)
      << lease.error().cause;
  EXPECT_EQ(waits, 1);
}

TEST(Lease, ThatCannotBeMadeIsAnError) {
  const auto lease = LeaseTaker::take("/nonexistent/x", kQuick, kNever, kQuiet);
  ASSERT_FALSE(lease);
  EXPECT_EQ(lease.error().kind, ErrorKind::not_found);
}

}  // namespace
}  // namespace pinstep
