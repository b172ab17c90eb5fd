#include "launcher/worker/check/peer.h"

#include <gmock/gmock.h>

#include "launcher/worker/check/check.h"
#include "tests/unit/support/results.h"

namespace pinstep::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::Succeeds;

Moment in(int milliseconds) { return std::chrono::steady_clock::now() + Milliseconds(milliseconds); }

TEST(Peer, ALinkHasLatencyAndBandwidth) {
  const auto answerer = Answerer::start();
  ASSERT_THAT(answerer, Succeeds());
  for (int time = 0; time < 2; ++time) {
    const Link link = measure_link({3, "127.0.0.1", (*answerer)->port()}, in(60'000));
    EXPECT_EQ(link.error, "");
    EXPECT_EQ(link.to, 3U);
    EXPECT_GT(link.latency, 0);
    EXPECT_GT(link.bandwidth, 0);
  }
}

TEST(Peer, OneClockIsLikeItself) {
  const auto answerer = Answerer::start();
  ASSERT_THAT(answerer, Succeeds());
  const auto skew = measure_skew({0, "127.0.0.1", (*answerer)->port()}, in(60'000));
  ASSERT_THAT(skew, Succeeds());
  EXPECT_LE(std::abs(skew->seconds), skew->uncertainty + 1e-3);
}

TEST(Peer, NobodyThere) {
  std::uint16_t port = 0;
  {
    const auto answerer = Answerer::start();
    ASSERT_THAT(answerer, Succeeds());
    port = (*answerer)->port();
  }
  EXPECT_THAT(measure_link({3, "127.0.0.1", port}, in(60'000)).error,
              HasSubstr("cannot reach rank 3 at '127.0.0.1:" + std::to_string(port) + "'"));
}

TEST(Peer, OneThatIsSilentIsGivenUp) {
  const auto mute = listen_on(0);  // the kernel accepts, nobody answers
  ASSERT_THAT(mute, Succeeds());
  const Link link = measure_link({1, "127.0.0.1", port_of(*mute).value()}, in(200));
  EXPECT_EQ(link.error, "it does not answer in time");
  EXPECT_FALSE(measure_skew({1, "127.0.0.1", port_of(*mute).value()}, in(200)));
}

TEST(Answerer, SurvivesStrangers) {
  const auto answerer = Answerer::start();
  ASSERT_THAT(answerer, Succeeds());
  const std::string cases[] = {"", "x", "GET / HTTP/1.1\r\n\r\n",
                               std::string("b\xff\xff\xff\xff\xff\xff\xff\xff", 9), "e123"};
  for (const std::string& text : cases) {
    const auto socket = connect_to("127.0.0.1", (*answerer)->port(), "it", in(60'000));
    ASSERT_THAT(socket, Succeeds());
    ASSERT_TRUE(write_all(socket->get(), text));
  }
  EXPECT_EQ(measure_link({3, "127.0.0.1", (*answerer)->port()}, in(60'000)).error, "");
}

TEST(Peers, FirstRanksOfOtherNodesOrAllOfThisOne) {
  const std::vector<std::string> nodes{"a", "a", "b", "b", "c", "c"};
  EXPECT_THAT(peers_of(0, nodes), ElementsAre(2, 4));
  EXPECT_THAT(peers_of(2, nodes), ElementsAre(4, 0));
  EXPECT_THAT(peers_of(1, nodes), IsEmpty());
  EXPECT_THAT(peers_of(1, {"a", "a", "a"}), ElementsAre(2, 0));
  EXPECT_THAT(peers_of(0, {"a"}), IsEmpty());
  // Those that did not come are not asked.
  EXPECT_THAT(peers_of(0, {"a", "", "b", ""}), ElementsAre(2));
  EXPECT_EQ(peers_of(5, std::vector<std::string>(1000, "a")).size(), 64U);
}

}  // namespace
}  // namespace pinstep::worker
