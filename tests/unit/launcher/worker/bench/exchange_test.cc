#include "launcher/worker/bench/exchange.h"

#include "launcher/worker/bench/pattern.h"
#include "tests/unit/launcher/worker/support/ranks.h"

namespace pinstep::worker {
namespace {

using testing_support::array;
using testing_support::Kind;
using testing_support::run_ranks;
using testing_support::Succeeds;

TEST(Pattern, TheSumIsThatOfWhatTheRanksGive) {
  for (const std::uint32_t ranks : {1U, 2U, 63U, 64U, 65U, 200U})
    for (const std::size_t i : {0U, 1U, 1020U, 1021U, 123456U}) {
      float sum = 0;
      for (std::uint32_t rank = 0; rank < ranks; ++rank) sum += given(rank, i);
      EXPECT_EQ(given_by_all(ranks, i), sum) << ranks << " " << i;
    }
}

class EachTransport : public testing::TestWithParam<Kind> {};

INSTANTIATE_TEST_SUITE_P(Exchange, EachTransport, testing::Values(Kind::threads, Kind::gloo),
                         [](const auto& info) { return info.param == Kind::threads ? "Threads" : "Gloo"; });

TEST_P(EachTransport, EveryOperationGivesTheRightNumbers) {
  for (const std::uint32_t size : {2U, 3U})
    run_ranks(GetParam(), size, [size](Device& device, Transport& transport) {
      for (const Operation operation : kOperations)
        for (const std::size_t bytes : {8U, 4096U, 5'000'000U}) {
          const auto found = measure(device, transport, operation, bytes, {3, 0});
          ASSERT_THAT(found, Succeeds());
          EXPECT_EQ(found->wrong, 0U) << to_string(operation) << " " << bytes;
          EXPECT_EQ(found->ranks, size);
          EXPECT_EQ(found->iterations, 3U);
          EXPECT_EQ(found->bytes, rounded_bytes(operation, bytes, size));
          EXPECT_GT(found->seconds, 0);
        }
    });
}

TEST_P(EachTransport, IterationsFillTheTimeAndAreTheSameOnAllRanks) {
  std::vector<std::uint32_t> iterations(2);
  run_ranks(GetParam(), 2, [&](Device& device, Transport& transport) {
    const auto found = measure(device, transport, Operation::all_reduce, 1000, {0, 0.001});
    ASSERT_THAT(found, Succeeds());
    iterations[transport.rank()] = found->iterations;
  });
  EXPECT_EQ(iterations[0], iterations[1]);
  EXPECT_GE(iterations[0], 2U);
}

// Carries as another does, but for one element of what this rank gets.
class Corrupting final : public Transport {
 public:
  Corrupting(Transport& inner, Operation operation) : inner_(inner), operation_(operation) {}

  std::uint32_t rank() const override { return inner_.rank(); }
  std::uint32_t size() const override { return inner_.size(); }
  Result<void> all_reduce(Array data, Reduction reduction, Stream stream) override {
    auto done = inner_.all_reduce(data, reduction, stream);
    // What is no f32 belongs to the measurement itself.
    if (operation_ == Operation::all_reduce && data.type == Type::f32) corrupt(data);
    return done;
  }
  Result<void> broadcast(Array data, std::uint32_t root, Stream stream) override {
    auto done = inner_.broadcast(data, root, stream);
    corrupt(data);
    return done;
  }
  Result<void> all_gather(Array mine, Array all, Stream stream) override {
    auto done = inner_.all_gather(mine, all, stream);
    corrupt(all);
    return done;
  }
  Result<void> send(Array data, std::uint32_t to, Stream stream) override {
    return inner_.send(data, to, stream);
  }
  Result<void> receive(Array data, std::uint32_t from, Stream stream) override {
    received_ = data;
    return inner_.receive(data, from, stream);
  }
  Result<void> begin_group() override { return inner_.begin_group(); }
  Result<void> end_group() override {
    auto done = inner_.end_group();
    corrupt(received_);
    return done;
  }
  void abort() noexcept override { inner_.abort(); }
  Result<void> poll() override { return inner_.poll(); }

 private:
  void corrupt(Array data) {
    if (rank() == 1) static_cast<float*>(data.data)[data.count - 1] += 1;
  }

  Transport& inner_;
  const Operation operation_;
  Array received_;
};

TEST(Exchange, AWrongElementIsCountedByAllRanks) {
  for (const Operation operation : kOperations)
    run_ranks(Kind::threads, 2, [operation](Device& device, Transport& transport) {
      Corrupting corrupting(transport, operation);
      const auto found = measure(device, corrupting, operation, 4000, {1, 0});
      ASSERT_THAT(found, Succeeds());
      EXPECT_EQ(found->wrong, 2U) << to_string(operation);  // before and after
    });
}

}  // namespace
}  // namespace pinstep::worker
