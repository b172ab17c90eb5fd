// The contract of Transport, held to all of its kinds.
#include "launcher/worker/transport/transport.h"

#include <atomic>
#include <cstring>
#include <future>

#include "tests/unit/launcher/worker/support/ranks.h"

namespace pinstep::worker {
namespace {

using testing_support::array;
using testing_support::kDeadline;
using testing_support::Kind;
using testing_support::run_ranks;
using testing_support::Succeeds;

class TransportTest : public testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(Each, TransportTest, testing::Values(Kind::threads, Kind::gloo),
                         [](const auto& info) { return info.param == Kind::threads ? "Threads" : "Gloo"; });

template <class T>
void check_reductions(Transport& transport) {
  const auto size = static_cast<int>(transport.size()), rank = static_cast<int>(transport.rank());
  for (const std::size_t count : {1U, 7U, 1000U}) {
    std::vector<T> sum(count), least(count), most(count);
    for (std::size_t i = 0; i < count; ++i)
      sum[i] = least[i] = most[i] = static_cast<T>(rank + static_cast<int>(i % 5));
    ASSERT_THAT(transport.all_reduce(array(sum), Reduction::sum, {}), Succeeds());
    ASSERT_THAT(transport.all_reduce(array(least), Reduction::minimum, {}), Succeeds());
    ASSERT_THAT(transport.all_reduce(array(most), Reduction::maximum, {}), Succeeds());
    for (int i = 0; i < static_cast<int>(count); ++i) {
      ASSERT_EQ(sum[static_cast<std::size_t>(i)], static_cast<T>(size * (size - 1) / 2 + size * (i % 5)));
      ASSERT_EQ(least[static_cast<std::size_t>(i)], static_cast<T>(i % 5));
      ASSERT_EQ(most[static_cast<std::size_t>(i)], static_cast<T>(size - 1 + i % 5));
    }
  }
}

TEST_P(TransportTest, ReducesEveryType) {
  for (const std::uint32_t size : {1U, 2U, 3U})
    run_ranks(GetParam(), size, [](Device&, Transport& transport) {
      check_reductions<float>(transport);
      check_reductions<double>(transport);
      check_reductions<std::int32_t>(transport);
      check_reductions<std::int64_t>(transport);
      check_reductions<std::uint8_t>(transport);
    });
}

TEST_P(TransportTest, SumsAreTheSameBitsOnAllRanksAndInEveryRun) {
  constexpr std::size_t kCount = 100'003;
  std::vector<float> first;
  for (int run = 0; run < 2; ++run) {
    std::vector<std::vector<float>> sums(3);
    run_ranks(GetParam(), 3, [&](Device&, Transport& transport) {
      std::vector<float> values(kCount);
      for (std::size_t i = 0; i < kCount; ++i)
        values[i] = 1 / static_cast<float>(i * 3 + transport.rank() * 7 + 1);
      ASSERT_THAT(transport.all_reduce(array(values), Reduction::sum, {}), Succeeds());
      sums[transport.rank()] = values;
    });
    if (run == 0) first = sums[0];
    for (const auto& sum : sums) EXPECT_EQ(std::memcmp(sum.data(), first.data(), kCount * sizeof(float)), 0);
  }
}

TEST_P(TransportTest, BroadcastsFromEachRoot) {
  run_ranks(GetParam(), 3, [](Device&, Transport& transport) {
    for (std::uint32_t root = 0; root < 3; ++root) {
      std::vector<std::uint8_t> values(100, static_cast<std::uint8_t>(transport.rank() + 10));
      ASSERT_THAT(transport.broadcast(array(values), root, {}), Succeeds());
      EXPECT_EQ(values, std::vector<std::uint8_t>(100, static_cast<std::uint8_t>(root + 10)));
    }
  });
}

TEST_P(TransportTest, GathersInTheOrderOfRanks) {
  run_ranks(GetParam(), 3, [](Device&, Transport& transport) {
    std::vector<std::int32_t> mine(2, static_cast<std::int32_t>(transport.rank())), all(6);
    ASSERT_THAT(transport.all_gather(array(mine), array(all), {}), Succeeds());
    EXPECT_EQ(all, (std::vector<std::int32_t>{0, 0, 1, 1, 2, 2}));
  });
}

TEST_P(TransportTest, SendsInOrder) {
  run_ranks(GetParam(), 2, [](Device&, Transport& transport) {
    for (float i = 0; i < 20; ++i) {
      std::vector<float> values(1000, transport.rank() == 0 ? i : -1);
      ASSERT_THAT(transport.rank() == 0 ? transport.send(array(values), 1, {})
                                        : transport.receive(array(values), 0, {}),
                  Succeeds());
      EXPECT_EQ(values, std::vector<float>(1000, i));
    }
  });
}

TEST_P(TransportTest, InAGroupRanksMaySendToEachOther) {
  run_ranks(GetParam(), 3, [](Device&, Transport& transport) {
    const std::uint32_t right = (transport.rank() + 1) % 3, left = (transport.rank() + 2) % 3;
    // Larger than what a socket takes without somebody reading it.
    std::vector<float> out(1 << 20, static_cast<float>(transport.rank())), in(1 << 20), again(1 << 20);
    ASSERT_THAT(transport.begin_group(), Succeeds());
    ASSERT_THAT(transport.send(array(out), right, {}), Succeeds());
    ASSERT_THAT(transport.send(array(out), right, {}), Succeeds());
    ASSERT_THAT(transport.receive(array(in), left, {}), Succeeds());
    ASSERT_THAT(transport.receive(array(again), left, {}), Succeeds());
    ASSERT_THAT(transport.end_group(), Succeeds());
    EXPECT_EQ(in, std::vector<float>(1 << 20, static_cast<float>(left)));
    EXPECT_EQ(again, in);
  });
}

TEST_P(TransportTest, ARankThatDoesNotComeEndsTheOthersByTheDeadline) {
  std::atomic<int> ended = 0;
  run_ranks(
      GetParam(), 3,
      [&](Device&, Transport& transport) {
        std::vector<float> values(10);
        ASSERT_THAT(transport.all_reduce(array(values), Reduction::sum, {}), Succeeds());
        const auto began = std::chrono::steady_clock::now();
        if (transport.rank() == 1) {
          while (ended < 2) std::this_thread::sleep_for(Milliseconds(10));
          return;
        }
        const auto late = transport.all_reduce(array(values), Reduction::sum, {});
        EXPECT_LT(std::chrono::steady_clock::now() - began, Milliseconds(5000));
        ++ended;
        ASSERT_FALSE(late);
        EXPECT_TRUE(late.error().kind == ErrorKind::timed_out || late.error().kind == ErrorKind::network);
        EXPECT_FALSE(transport.poll());
      },
      Milliseconds(500));
}

TEST_P(TransportTest, ARankThatGivesUpEndsTheOthersSoon) {
  run_ranks(GetParam(), 2, [](Device&, Transport& transport) {
    std::vector<float> values(10);
    ASSERT_THAT(transport.all_reduce(array(values), Reduction::sum, {}), Succeeds());
    // Only when rank 0 is through: what is on its way to it goes with the connection.
    ASSERT_THAT(
        transport.rank() == 0 ? transport.send(array(values), 1, {}) : transport.receive(array(values), 0, {}),
        Succeeds());
    if (transport.rank() == 1) return transport.abort();
    const auto began = std::chrono::steady_clock::now();
    const auto ended = transport.all_reduce(array(values), Reduction::sum, {});
    ASSERT_FALSE(ended);
    EXPECT_EQ(ended.error().kind, ErrorKind::network);
    EXPECT_LT(std::chrono::steady_clock::now() - began, Milliseconds(5000));
    // And nothing works from then on.
    EXPECT_FALSE(transport.all_reduce(array(values), Reduction::sum, {}));
  });
}

TEST(GlooTransport, ARankThatNeverArrivesIsWaitedForAsLongAsToldOnly) {
  MemoryStore store;
  CpuDevice device;
  const auto transport =
      GlooTransport::create({0, 2, "127.0.0.1", "", Milliseconds(200), Milliseconds(200)}, device);
  ASSERT_THAT(transport, Succeeds());
  const auto connected = (*transport)->connect(store);
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().kind, ErrorKind::timed_out);
  EXPECT_THAT(connected.error().cause, testing::HasSubstr("within 200 ms"));
}

// A store in which words are waited for until the test lets go of them.
class HeldStore final : public Store {
 public:
  Result<void> set(const std::string&, std::string_view) override { return {}; }
  Result<std::string> get(const std::string&, Milliseconds) override {
    is_asked.set_value();
    const bool is_released = release.get_future().wait_for(kDeadline) == std::future_status::ready;
    EXPECT_TRUE(is_released) << "the transport has waited for this";
    return fail(ErrorKind::timed_out, "nobody came");
  }

  std::promise<void> is_asked, release;
};

TEST(GlooTransport, GivingUpEndsConnectingAtOnce) {
  HeldStore store;
  CpuDevice device;
  const auto transport = GlooTransport::create({0, 2, "127.0.0.1", "", kDeadline, kDeadline}, device);
  ASSERT_THAT(transport, Succeeds());
  std::thread later([&] {
    store.is_asked.get_future().wait();
    (*transport)->abort();
  });
  const auto connected = (*transport)->connect(store);
  store.release.set_value();
  ASSERT_FALSE(connected);
  EXPECT_EQ(connected.error().kind, ErrorKind::network);
  EXPECT_EQ(connected.error().cause, "this rank has given up");
  later.join();
}

TEST(GlooTransport, AnInterfaceThatIsNotThereIsNamed) {
  CpuDevice device;
  const auto transport =
      GlooTransport::create({0, 2, "", "nonet0", Milliseconds(200), Milliseconds(200)}, device);
  ASSERT_FALSE(transport);
  EXPECT_THAT(transport.error().cause, testing::HasSubstr("from 'nonet0'"));
}

// A connection that was reset before its other end had accepted it once ended that process, from a thread of
// Gloo's.
TEST(GlooTransport, GivingUpRightAfterConnectingHarmsNobody) {
  for (int i = 0; i < 30; ++i)
    run_ranks(Kind::gloo, 4, [](Device&, Transport& transport) { transport.abort(); });
}

}  // namespace
}  // namespace pinstep::worker
