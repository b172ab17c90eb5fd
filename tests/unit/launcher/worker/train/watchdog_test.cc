#include "launcher/worker/train/watchdog.h"

#include <future>

#include "tests/unit/support/results.h"

namespace pinstep::worker {
namespace {

using testing_support::Succeeds;

constexpr Milliseconds kPatience{20'000};

struct WatchdogTest : testing::Test {
  WatchdogTest() {
    auto started = TcpStoreServer::start(0, {"", 2, Milliseconds(200)});
    EXPECT_THAT(started, Succeeds());
    server = std::move(*started);
    for (std::uint32_t rank = 0; rank < 2; ++rank)
      stores.push_back(
          std::move(*TcpStore::connect({{"127.0.0.1"}, server->port()}, {"", 2, rank, "n"}, kPatience)));
  }
  Watchdog::Calls calls() {
    return {[] { return 1U; }, [this] { aborted.set_value(); }, [this] { hung.set_value(); }};
  }

  std::unique_ptr<TcpStoreServer> server;
  std::vector<std::unique_ptr<TcpStore>> stores;
  std::promise<void> aborted, hung;
};

TEST_F(WatchdogTest, EndsWhatWaitsForARankThatHasFailed) {
  Watchdog watchdog(*stores[0], kPatience, calls());
  ASSERT_THAT(stores[1]->report("no space", kPatience), Succeeds());
  EXPECT_EQ(aborted.get_future().wait_for(kPatience), std::future_status::ready);
  watchdog.stop();
  EXPECT_EQ(hung.get_future().wait_for(Milliseconds(0)), std::future_status::timeout);
}

TEST_F(WatchdogTest, SaysThatARankHangsThatDoesNotComeBack) {
  const Watchdog watchdog(*stores[0], kPatience, calls());
  server.reset();
  EXPECT_EQ(hung.get_future().wait_for(kPatience), std::future_status::ready);
  EXPECT_EQ(aborted.get_future().wait_for(Milliseconds(0)), std::future_status::ready);
}

TEST_F(WatchdogTest, IsHeardWhileTheRankDoesNotComeBack) {
  const Watchdog watchdog(*stores[0], kPatience, calls());
  EXPECT_TRUE(stores[1]->tell_progress(2, kPatience));
  ASSERT_THAT(stores[1]->report({}, kPatience), Succeeds());
  std::this_thread::sleep_for(Milliseconds(1500));  // who is not heard for a second is silent
  EXPECT_EQ(stores[1]->verdict(kPatience).text,
            "rank 0 on n is alive and did not get to collective 2, only to 1");
}

TEST_F(WatchdogTest, LeavesAHealthyRankAlone) {
  {
    const Watchdog watchdog(*stores[0], kPatience, calls());
    std::this_thread::sleep_for(Milliseconds(500));
  }
  EXPECT_EQ(aborted.get_future().wait_for(Milliseconds(0)), std::future_status::timeout);
}

}  // namespace
}  // namespace pinstep::worker
