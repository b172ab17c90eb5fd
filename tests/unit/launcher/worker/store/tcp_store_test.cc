#include "launcher/worker/store/tcp_store.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>

#include "launcher/rendezvous/port.h"
#include "launcher/worker/store/wire.h"
#include "tests/unit/support/results.h"

namespace pinstep::worker {
namespace {

using testing::HasSubstr;
using testing_support::FailsWith;
using testing_support::Holds;
using testing_support::Succeeds;
using Ranks = std::vector<std::uint32_t>;

constexpr Milliseconds kPatience{10'000}, kGrace{200}, kShort{50};

struct TcpStoreTest : testing::Test {
  void serve(std::uint32_t size, std::uint16_t port = 0) {
    auto started = TcpStoreServer::start(port, {"7.0", size, kGrace});
    ASSERT_THAT(started, Succeeds());
    server = std::move(*started);
  }
  Result<std::unique_ptr<TcpStore>> connect(std::uint32_t rank, std::uint32_t size,
                                            const std::string& cookie = "7.0",
                                            const std::string& host = "127.0.0.1") {
    return TcpStore::connect({{host}, server->port()}, {cookie, size, rank, "node"}, kPatience);
  }
  std::vector<std::unique_ptr<TcpStore>> all(std::uint32_t size) {
    serve(size);
    std::vector<std::unique_ptr<TcpStore>> stores;
    for (std::uint32_t rank = 0; rank < size; ++rank) stores.push_back(std::move(*connect(rank, size)));
    return stores;
  }

  std::unique_ptr<TcpStoreServer> server;
};

TEST_F(TcpStoreTest, KeepsWhatRanksSet) {
  const auto stores = all(2);
  const std::string bytes("\0\xff x", 4);
  ASSERT_THAT(stores[0]->set("a", bytes), Succeeds());
  EXPECT_EQ(stores[1]->get("a", kShort), bytes);
  ASSERT_THAT(stores[1]->set("a", std::string(500'000, 'x')), Succeeds());
  EXPECT_EQ(stores[0]->get("a", kShort), std::string(500'000, 'x'));
  EXPECT_EQ(stores[0]->own_address(), "127.0.0.1");
}

TEST_F(TcpStoreTest, AKeyIsWaitedFor) {
  const auto stores = all(2);
  std::thread later([&] {
    std::this_thread::sleep_for(Milliseconds(30));
    EXPECT_THAT(stores[1]->set("late", "here"), Succeeds());
  });
  EXPECT_EQ(stores[0]->get("late", kPatience), "here");
  EXPECT_THAT(stores[0]->wait({"late"}, kShort), Succeeds());
  later.join();
}

TEST_F(TcpStoreTest, AKeyThatNobodySetsIsWaitedForAsLongAsTold) {
  const auto stores = all(1);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_THAT(stores[0]->get("k", kShort), FailsWith(ErrorKind::timed_out, "nobody set 'k' within 50 ms"));
  EXPECT_GE(std::chrono::steady_clock::now() - began, kShort);
}

TEST_F(TcpStoreTest, ARankThatDidNotArriveIsNamed) {
  serve(3);
  const auto store = connect(1, 3);
  ASSERT_THAT(store, Succeeds());
  EXPECT_THAT((*store)->get("k", kShort),
              FailsWith(ErrorKind::timed_out, "ranks 0, 2 did not arrive within 50 ms"));
}

TEST_F(TcpStoreTest, WaitingEndsWhenARankIsGone) {
  auto stores = all(3);
  std::thread later([&] {
    std::this_thread::sleep_for(Milliseconds(30));
    stores[2].reset();
  });
  EXPECT_THAT(stores[0]->get("k", kPatience), FailsWith(ErrorKind::network, "rank 2 on node is gone"));
  later.join();
  const Verdict verdict = stores[1]->verdict(kPatience);
  EXPECT_EQ(verdict.kind, Verdict::Kind::gone);
  EXPECT_EQ(verdict.ranks, Ranks{2});
}

TEST_F(TcpStoreTest, WhoSaidByeIsNotGone) {
  auto stores = all(2);
  stores[1]->bye();
  stores[1].reset();
  EXPECT_THAT(stores[0]->get("k", kShort), FailsWith(ErrorKind::timed_out, "nobody set 'k' within 50 ms"));
  stores[0]->bye();
  server->linger(kPatience);
}

TEST_F(TcpStoreTest, WhoIsHeardIsWaitedForLonger) {
  using Clock = std::chrono::steady_clock;
  auto stores = all(2);
  stores[0]->bye();
  const auto begin = Clock::now();
  server->linger(kShort, TcpStoreServer::Whom::present, kPatience);
  EXPECT_LT(Clock::now() - begin, kPatience) << "for one that was never heard";
  std::atomic<bool> has_asked = false;
  std::jthread late([&] {
    for (int i = 0; i < 5; ++i) {
      (void)stores[1]->tell_progress(7, kPatience);
      std::this_thread::sleep_for(kShort);
    }
    has_asked = true;
    stores[1]->bye();
    stores[1].reset();
  });
  std::this_thread::sleep_for(kShort);  // until it is heard
  server->linger(kShort, TcpStoreServer::Whom::present, kPatience);
  EXPECT_TRUE(has_asked);
}

TEST_F(TcpStoreTest, ASilentRankIsNamedAfterTheGraceTime) {
  const auto stores = all(3);
  ASSERT_THAT(stores[0]->report({}, kPatience), Succeeds());
  ASSERT_THAT(stores[1]->report({}, kPatience), Succeeds());
  const Verdict verdict = stores[0]->verdict(kPatience);
  EXPECT_EQ(verdict.kind, Verdict::Kind::silent);
  EXPECT_EQ(verdict.ranks, Ranks{2});
  EXPECT_EQ(verdict.text, "rank 2 on node does not answer");
}

TEST_F(TcpStoreTest, WhoTellsItsProgressHearsOfTrouble) {
  const auto stores = all(2);
  EXPECT_TRUE(stores[1]->tell_progress(7, kPatience));
  ASSERT_THAT(stores[0]->report({}, kPatience), Succeeds());
  EXPECT_FALSE(stores[1]->tell_progress(7, kPatience));
}

TEST_F(TcpStoreTest, WaitingEndsWhenARankHasGivenUp) {
  const auto stores = all(2);
  std::thread later([&] {
    std::this_thread::sleep_for(Milliseconds(30));
    ASSERT_THAT(stores[1]->report({}, kPatience), Succeeds());
  });
  EXPECT_THAT(stores[0]->get("k", kPatience), FailsWith(ErrorKind::network, "another rank has given up"));
  later.join();
}

TEST_F(TcpStoreTest, TheFirstToClaimWordsHasThem) {
  const auto stores = all(2);
  EXPECT_EQ(stores[1]->claim("n0: it is broken", kPatience), true);
  EXPECT_EQ(stores[0]->claim("n0: it is broken", kPatience), false);
  EXPECT_EQ(stores[0]->claim("n1: it is broken", kPatience), true);
  server.reset();
  EXPECT_EQ(stores[0]->claim("n2: it is broken", kPatience).error().kind, ErrorKind::network);
}

// A server that answers the first request and no other is as one that is stopped.
TEST(TcpStore, KnowsSinceWhenTheServerIsSilent) {
  const auto listener = listen_on(0);
  ASSERT_THAT(listener, Succeeds());
  UniqueFd accepted;
  std::thread server([&] {
    pollfd watched{listener->get(), POLLIN, 0};
    ASSERT_EQ(::poll(&watched, 1, static_cast<int>(kPatience.count())), 1);
    accepted = UniqueFd(::accept(listener->get(), nullptr, nullptr));
    const std::string ok = encode({"ok"});
    ASSERT_EQ(::send(accepted.get(), ok.data(), ok.size(), MSG_NOSIGNAL), std::ssize(ok));
  });
  const auto store = TcpStore::connect({{"127.0.0.1"}, *port_of(*listener)}, {"", 2, 1, "n"}, kPatience);
  server.join();
  ASSERT_THAT(store, Succeeds());
  EXPECT_FALSE((*store)->silent_since());
  const auto before = std::chrono::steady_clock::now();
  EXPECT_LE((*store)->last_answer(), before);
  constexpr Milliseconds kKeyTime{100};  // in which the server may well be silent
  EXPECT_THAT((*store)->get("k", kKeyTime).error().cause, HasSubstr("does not answer"));
  const auto since = (*store)->silent_since();
  ASSERT_TRUE(since);
  EXPECT_GE(*since, before + kKeyTime);
  EXPECT_LE(*since, std::chrono::steady_clock::now());
  EXPECT_LE((*store)->last_answer(), before);
  EXPECT_EQ((*store)->verdict(kShort).kind, Verdict::Kind::silent);
}

TEST_F(TcpStoreTest, WithoutAServerNothingIsWell) {
  const auto stores = all(1);
  server.reset();
  EXPECT_FALSE(stores[0]->tell_progress(1, kPatience));
  EXPECT_FALSE(stores[0]->tell_progress(1, kPatience));
}

TEST_F(TcpStoreTest, AnErrorOfARankIsToldToTheOthers) {
  const auto stores = all(2);
  ASSERT_THAT(stores[1]->report("it is\nbroken", kPatience), Succeeds());
  const Verdict verdict = stores[0]->verdict(kPatience);
  EXPECT_EQ(verdict.kind, Verdict::Kind::failed);
  EXPECT_EQ(verdict.text, "rank 1 on node has failed: it is?broken");
}

TEST_F(TcpStoreTest, AServerThatIsGoneIsRank0) {
  const auto stores = all(2);
  server.reset();
  EXPECT_THAT(stores[1]->get("k", kShort).error().cause, HasSubstr("is gone"));
  const Verdict verdict = stores[1]->verdict(kPatience);
  EXPECT_EQ(verdict.kind, Verdict::Kind::gone);
  EXPECT_EQ(verdict.ranks, Ranks{0});
}

TEST_F(TcpStoreTest, StrangersAndTwinsAreRefused) {
  serve(2);
  const auto first = connect(0, 2);
  ASSERT_THAT(first, Succeeds());
  const auto refusal = [&](const auto& store) { return store ? "" : store.error().cause; };
  EXPECT_THAT(refusal(connect(0, 2)), HasSubstr("refuses rank 0: there are two with rank 0, on node and node"));
  EXPECT_THAT(refusal(connect(1, 3)), HasSubstr("refuses rank 1: it serves 2 ranks, not 3"));
  EXPECT_THAT(refusal(connect(1, 2, "8.0")),
              HasSubstr("refuses rank 1: it serves another job or step: '7.0', not '8.0'"));
  EXPECT_THAT(connect(1, 2), Succeeds());
}

TEST_F(TcpStoreTest, NoiseFromStrangersDoesNotDisturb) {
  const auto stores = all(1);
  for (const std::string noise : {"GET / HTTP/1.1\r\n\r\n", "", "\xff\xff\xff\xff\xff"}) {
    const UniqueFd stranger(::socket(AF_INET, SOCK_STREAM, 0));
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(server->port());
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ASSERT_EQ(::connect(stranger.get(), reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    ASSERT_EQ(::send(stranger.get(), noise.data(), noise.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(noise.size()));
    ASSERT_THAT(stores[0]->set("k", noise), Succeeds());
    EXPECT_EQ(stores[0]->get("k", kShort), noise);
  }
}

TEST_F(TcpStoreTest, ServesOnAPortThatIsHeldForIt) {
  const auto held = hold_port(0);
  ASSERT_THAT(held, Succeeds());
  serve(1, held->port);
  EXPECT_THAT(connect(0, 1), Succeeds());
  EXPECT_THAT(
      TcpStoreServer::start(held->port, {"", 1, kGrace}),
      FailsWith(ErrorKind::busy,
                "cannot serve the ranks on port '" + std::to_string(held->port) + "': Address already in use",
                "MASTER_PORT must be free on the node of rank 0"));
}

TEST_F(TcpStoreTest, RanksMayComeBeforeTheServer) {
  std::uint16_t port = 0;
  {
    const auto held = hold_port(0);
    port = held->port;
  }
  std::thread later([&] {
    std::this_thread::sleep_for(Milliseconds(100));
    serve(1, port);
  });
  EXPECT_THAT(TcpStore::connect({{"127.0.0.1"}, port}, {"7.0", 1, 0, "node"}, kPatience), Succeeds());
  later.join();
}

TEST_F(TcpStoreTest, AServerThatNeverComesIsWaitedForAsLongAsTold) {
  const auto held = hold_port(0);
  const auto store = TcpStore::connect({{"127.0.0.1"}, held->port}, {"", 1, 0, ""}, Milliseconds(120));
  ASSERT_FALSE(store);
  EXPECT_EQ(store.error().kind, ErrorKind::timed_out);
  EXPECT_THAT(store.error().cause,
              HasSubstr("cannot reach rank 0 at '127.0.0.1:" + std::to_string(held->port) + "'"));
}

TEST_F(TcpStoreTest, OneOfSeveralAddressesIsEnough) {
  serve(1);
  const auto store =
      TcpStore::connect({{"host.invalid", "127.0.0.1"}, server->port()}, {"7.0", 1, 0, "n"}, kPatience);
  EXPECT_THAT(store, Succeeds());
}

TEST(MemoryStore, WaitsAsTheOthersDo) {
  MemoryStore store;
  EXPECT_THAT(store.get("k", kShort), FailsWith(ErrorKind::timed_out, "nobody set 'k' within 50 ms"));
  ASSERT_THAT(store.set("k", "v"), Succeeds());
  EXPECT_EQ(store.get("k", kShort), "v");
  const auto waited = store.wait({"k", "l"}, kShort);
  ASSERT_FALSE(waited);
  EXPECT_THAT(waited.error().cause, HasSubstr("nobody set 'l'"));
}

}  // namespace
}  // namespace pinstep::worker
