// Hearts that beat over real sockets, each with a node's name of its own.
#include "launcher/worker/store/heart.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include "launcher/worker/store/wire.h"
#include "tests/unit/support/results.h"

namespace pinstep::worker {
namespace {

using testing::HasSubstr;
using testing_support::FailsWith;
using testing_support::Succeeds;
using Clock = std::chrono::steady_clock;

constexpr Milliseconds kPatience{20'000};

struct HeartTest : testing::Test {
  void start(std::uint32_t size, const std::string& cookie = "7.0") {
    hearts.clear();
    hearts.resize(size);
    store = std::make_unique<MemoryStore>();
    std::vector<std::thread> threads;
    for (std::uint32_t rank = 0; rank < size; ++rank)
      threads.emplace_back([&, rank] {
        auto started = Heart::start(
            {cookie, rank, size, "n" + std::to_string(rank), "127.0.0.1", [] { return Clock::now(); }}, *store,
            kPatience);
        ASSERT_THAT(started, Succeeds());
        hearts[rank] = std::move(*started);
      });
    for (std::thread& thread : threads) thread.join();
  }
  // Until the sight that this rank has of the other one fulfils the condition.
  void wait_for(std::uint32_t rank, std::uint32_t other, const std::function<bool(const Sight&)>& condition) {
    for (const auto until = Clock::now() + kPatience; Clock::now() < until;) {
      for (const Sight& sight : hearts[rank]->sights())
        if (sight.seat.rank == other && condition(sight)) return;
      std::this_thread::sleep_for(Milliseconds(5));
    }
    FAIL() << "rank " << rank << " does not see that of rank " << other;
  }
  void expect_heard_from_now_on(std::uint32_t rank, std::uint32_t other) {
    const auto now = Clock::now();
    wait_for(rank, other, [&](const Sight& sight) { return sight.sign > now && sight.answered > now; });
  }

  std::unique_ptr<MemoryStore> store = std::make_unique<MemoryStore>();
  std::vector<std::unique_ptr<Heart>> hearts;
};

TEST_F(HeartTest, BeatsBetweenARankAndTwoOnEitherSide) {
  start(6);
  for (std::uint32_t rank = 0; rank < 6; ++rank) {
    EXPECT_EQ(hearts[rank]->sights().size(), 4U);
    for (const std::uint32_t away : {1U, 2U, 4U, 5U}) expect_heard_from_now_on(rank, (rank + away) % 6);
  }
}

TEST_F(HeartTest, BeatsInTheSmallestRings) {
  for (const std::uint32_t size : {2U, 3U}) {
    start(size);
    for (std::uint32_t rank = 0; rank < size; ++rank) expect_heard_from_now_on(rank, (rank + 1) % size);
  }
}

TEST_F(HeartTest, TheEndOfARankIsItsLastSign) {
  start(3);
  expect_heard_from_now_on(0, 2);
  const auto now = Clock::now();
  hearts[2].reset();
  wait_for(0, 2, [&](const Sight& sight) { return sight.sign > now; });
  std::this_thread::sleep_for(Milliseconds(500));
  const auto later = Clock::now();
  expect_heard_from_now_on(0, 1);
  for (const Sight& sight : hearts[0]->sights()) EXPECT_EQ(sight.seat.rank == 2, sight.sign < later);
}

TEST_F(HeartTest, JudgesByWhatItHears) {
  start(3);
  const auto since = Clock::now();
  wait_for(1, 2, [&](const Sight& sight) { return sight.answered > since + Milliseconds(500); });
  EXPECT_EQ(hearts[1]->judge(since).text, "rank 1 on n1 does not reach rank 0 on n0, and rank 2 on n2 does");
  const auto later = Clock::now() + kPatience;
  EXPECT_EQ(hearts[1]->judge(later).kind, Verdict::Kind::cut_off);
  EXPECT_THAT(hearts[1]->judge(later).text, HasSubstr("neither rank 0 on n0 nor rank 2 on n2 is heard"));
}

TEST_F(HeartTest, StrangersAreNotHeard) {
  start(2);
  std::string words = *store->get("heart/0", kPatience);
  bool is_broken = false;
  const Message post = *take_message(words, is_broken);
  const auto port = static_cast<std::uint16_t>(std::stoul(post[2]));
  for (const std::string& noise : {std::string("GET / HTTP/1.1\r\n\r\n"), std::string("\xff\xff\xff\xff"),
                                   encode({"8.0", "1", "0"}), encode({"7.0", "77", "0"}), encode({"7.0"})}) {
    auto stranger = connect_to("127.0.0.1", port, "it", Clock::now() + kPatience);
    ASSERT_THAT(stranger, Succeeds());
    ASSERT_EQ(::send(stranger->get(), noise.data(), noise.size(), MSG_NOSIGNAL), std::ssize(noise));
    expect_heard_from_now_on(0, 1);
  }
}

TEST_F(HeartTest, ARankThatDoesNotComeIsWaitedForAsLongAsTold) {
  const auto heart =
      Heart::start({"7.0", 0, 2, "n0", "127.0.0.1", [] { return Clock::now(); }}, *store, Milliseconds(50));
  ASSERT_FALSE(heart);
  EXPECT_EQ(heart.error().kind, ErrorKind::timed_out);
  EXPECT_THAT(heart.error().cause, HasSubstr("nobody set 'heart/1' within "));
}

TEST_F(HeartTest, AListThatIsNoneIsAnError) {
  ASSERT_THAT(store->set("heart/all", "nonsense"), Succeeds());
  const auto heart =
      Heart::start({"7.0", 1, 2, "n1", "127.0.0.1", [] { return Clock::now(); }}, *store, kPatience);
  EXPECT_THAT(heart, FailsWith(ErrorKind::network, "rank 0 gives a list of the ranks that is none"));
}

}  // namespace
}  // namespace pinstep::worker
