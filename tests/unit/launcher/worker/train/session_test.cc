#include "launcher/worker/train/session.h"

#include <atomic>

#include "launcher/rendezvous/port.h"
#include "tests/unit/launcher/worker/support/ranks.h"

namespace pinstep::worker {
namespace {

using testing::HasSubstr;
using testing_support::array;
using testing_support::Succeeds;

// Runs the function in a thread for each rank, with a session that is open.
void run_sessions(std::uint32_t size, const std::function<void(Session& session)>& function) {
  const auto held = hold_port(0);
  ASSERT_THAT(held, Succeeds());
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      CpuDevice device;
      Session session({StoreKind::tcp, Milliseconds(20'000), Milliseconds(20'000), "", "node"}, device);
      const Environment environment(Environment::Variables{{"RANK", std::to_string(rank)},
                                                           {"WORLD_SIZE", std::to_string(size)},
                                                           {"LOCAL_RANK", std::to_string(rank)},
                                                           {"LOCAL_WORLD_SIZE", std::to_string(size)},
                                                           {"MASTER_ADDR", "127.0.0.1"},
                                                           {"MASTER_PORT", std::to_string(held->port)}});
      ASSERT_THAT(session.open(environment), Succeeds());
      function(session);
    });
  for (std::thread& thread : threads) thread.join();
}

Result<void> exchange(Session& session) {
  std::vector<float> values(10);
  return session.transport().all_reduce(array(values), Reduction::sum, {});
}

TEST(Session, OpensExchangesAndCloses) {
  run_sessions(3, [](Session& session) {
    EXPECT_EQ(session.transport_name(), "gloo");
    EXPECT_EQ(session.transport().rank(), session.place().rank);
    EXPECT_THAT(exchange(session), Succeeds());
    session.close();
  });
}

TEST(Session, ARankWithAnErrorOfItsOwnIsNamedByTheOthers) {
  std::atomic<int> said = 0;
  run_sessions(3, [&](Session& session) {
    if (session.place().rank == 1) {
      const Ending ending = session.give_up({ErrorKind::no_space, "the disk is full", "make room"});
      EXPECT_EQ(ending.outcome, Outcome::failed);
      EXPECT_EQ(ending.error.cause, "the disk is full");
      EXPECT_TRUE(ending.is_to_be_said);
      return;
    }
    const auto failed = exchange(session);
    ASSERT_FALSE(failed);
    const Ending ending = session.give_up(failed.error());
    EXPECT_EQ(ending.outcome, Outcome::peer_lost);
    EXPECT_EQ(ending.ranks, std::vector<std::uint32_t>{1});
    EXPECT_THAT(ending.error.cause, HasSubstr("rank 1 on node has failed: the disk is full (rank "));
    said += ending.is_to_be_said ? 1 : 0;
  });
  EXPECT_EQ(said, 1);  // the ranks are on one node
}

TEST(Session, WhatAllRanksOfANodeFindIsSaidOnce) {
  struct Case {
    std::function<std::string(std::uint32_t rank)> cause;
    int said;
  };
  const Case cases[] = {
      {[](std::uint32_t) { return "the disk is full"; }, 1},
      {[](std::uint32_t rank) { return rank == 1 ? "the disk is full" : "there is no data"; }, 2},
  };
  for (const Case& one : cases) {
    std::atomic<int> said = 0;
    run_sessions(4, [&](Session& session) {
      const Error error{ErrorKind::no_space, one.cause(session.place().rank), ""};
      const Ending ending = session.give_up(error);
      EXPECT_EQ(ending.outcome, Outcome::failed);
      EXPECT_EQ(ending.error.cause, error.cause);
      said += ending.is_to_be_said ? 1 : 0;
    });
    EXPECT_EQ(said, one.said);
  }
}

TEST(Session, WhereAllFailAndNobodyIsMissingThatIsSaid) {
  run_sessions(2, [](Session& session) {
    const Ending ending = session.give_up({ErrorKind::network, "the cable is loose", ""});
    EXPECT_EQ(ending.outcome, Outcome::peers_unclear);
    EXPECT_EQ(ending.error.cause,
              "no rank is missing (rank " + std::to_string(session.place().rank) + ": the cable is loose)");
  });
}

TEST(Session, AloneItNeedsNobody) {
  CpuDevice device;
  Session session({}, device);
  ASSERT_THAT(session.open(Environment()), Succeeds());
  EXPECT_EQ(session.transport_name(), "none");
  EXPECT_THAT(exchange(session), Succeeds());
  session.close();
}

}  // namespace
}  // namespace pinstep::worker
