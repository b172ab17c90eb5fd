#include "launcher/worker/train/trainer.h"

#include <cmath>
#include <cstring>
#include <map>

#include "tests/unit/launcher/worker/support/data.h"
#include "tests/unit/launcher/worker/support/ranks.h"

namespace pinstep::worker {
namespace {

using testing_support::Kind;
using testing_support::made_up_data;
using testing_support::run_ranks;
using testing_support::Succeeds;
using Floats = std::vector<float>;

// Adds nothing up: what the tests below must notice.
class MuteTransport final : public Transport {
 public:
  explicit MuteTransport(Transport& real) : real_(real) {}
  std::uint32_t rank() const override { return real_.rank(); }
  std::uint32_t size() const override { return real_.size(); }
  Result<void> all_reduce(Array, Reduction, Stream) override { return {}; }
  Result<void> broadcast(Array data, std::uint32_t root, Stream s) override {
    return real_.broadcast(data, root, s);
  }
  Result<void> all_gather(Array mine, Array all, Stream s) override { return real_.all_gather(mine, all, s); }
  Result<void> send(Array data, std::uint32_t to, Stream s) override { return real_.send(data, to, s); }
  Result<void> receive(Array data, std::uint32_t from, Stream s) override {
    return real_.receive(data, from, s);
  }
  Result<void> begin_group() override { return real_.begin_group(); }
  Result<void> end_group() override { return real_.end_group(); }
  void abort() noexcept override { real_.abort(); }
  Result<void> poll() override { return real_.poll(); }

 private:
  Transport& real_;
};

TrainSettings settings(std::uint32_t batch) {
  TrainSettings settings;
  settings.batch = batch;
  settings.model.hidden = {12, 9};
  settings.optimizer.rate = 0.1F;
  settings.buckets = {100, 300};  // several of them
  return settings;
}

struct Trained {
  std::vector<EpochReport> reports;
  Floats values;
  std::vector<std::uint32_t> seen;
};

enum class Adding { normal, none };

// Trains with threads as ranks; the result of each rank.
std::vector<Trained> train(Kind kind, std::uint32_t ranks, const TrainSettings& settings, const DataSet& data,
                           Adding adding = Adding::normal) {
  std::vector<Trained> trained(ranks);
  run_ranks(kind, ranks, [&](Device& device, Transport& real) {
    MuteTransport mute(real);
    Transport& transport = adding == Adding::normal ? real : mute;
    auto trainer = Trainer::create(device, transport, data, settings);
    ASSERT_THAT(trainer, Succeeds());
    Trained& mine = trained[transport.rank()];
    for (std::uint32_t epoch = 1; epoch <= settings.epochs && !(*trainer)->is_finished(); ++epoch) {
      auto report = (*trainer)->train(epoch);
      ASSERT_THAT(report, Succeeds());
      mine.reports.push_back(*report);
    }
    mine.values = (*trainer)->weights()->values;
    mine.seen = (*trainer)->seen();
  });
  return trained;
}

float largest_difference(const Floats& a, const Floats& b) {
  EXPECT_EQ(a.size(), b.size());
  float largest = 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

bool same_bits(const Floats& a, const Floats& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

TEST(Trainer, ManyRanksDoTheStepsOfOne) {
  const DataSet data = made_up_data(480);
  TrainSettings one = settings(24);
  one.most_steps = 20;
  const Floats expected = train(Kind::threads, 1, one, data)[0].values;
  for (const std::uint32_t ranks : {2U, 3U, 4U}) {
    TrainSettings many = settings(24 / ranks);
    many.most_steps = 20;
    for (const Kind kind : {Kind::threads, Kind::gloo})
      EXPECT_LT(largest_difference(train(kind, ranks, many, data)[0].values, expected), 1e-4F) << ranks;
    // Otherwise the check above would say nothing.
    EXPECT_GT(largest_difference(train(Kind::threads, ranks, many, data, Adding::none)[0].values, expected),
              1e-3F);
  }
}

TEST(Trainer, RanksAndRunsEndWithTheSameBits) {
  const DataSet data = made_up_data(101);
  TrainSettings three = settings(8);
  three.epochs = 2;
  const auto first = train(Kind::gloo, 3, three, data), second = train(Kind::gloo, 3, three, data);
  for (std::size_t rank = 0; rank < 3; ++rank) {
    EXPECT_TRUE(same_bits(first[rank].values, first[0].values));
    EXPECT_TRUE(same_bits(second[rank].values, first[0].values));
  }
  three.seed = 2;
  EXPECT_FALSE(same_bits(train(Kind::gloo, 3, three, data)[0].values, first[0].values));
}

TEST(Trainer, WithVirtualShardsEachNumberOfRanksEndsWithTheSameBits) {
  const DataSet data = made_up_data(101);
  for (const bool is_cnn : {false, true}) {
    if (is_cnn && !CpuConvolutions::are_there()) continue;
    TrainSettings sharded = settings(3);
    sharded.epochs = 2;
    sharded.shards = 12;
    sharded.accumulate = 2;
    if (is_cnn) sharded.model = {ModelSpec::Kind::cnn, {9}, {16}, 0, 0};
    const Trained one = train(Kind::threads, 1, sharded, data)[0];
    for (const std::uint32_t ranks : {2U, 3U, 4U, 6U})
      for (const Kind kind : {Kind::threads, Kind::gloo}) {
        const auto many = train(kind, ranks, sharded, data);
        for (const Trained& rank : many) EXPECT_TRUE(same_bits(rank.values, one.values)) << ranks;
        EXPECT_NEAR(many[0].reports[1].loss, one.reports[1].loss, 1e-12);
        EXPECT_EQ(many[0].reports[1].accuracy, one.reports[1].accuracy);
        EXPECT_EQ(many[0].reports[1].samples, one.reports[1].samples);
      }
    // And the same as without, but for rounding.
    TrainSettings plain = sharded;
    plain.shards = 0;
    plain.batch = 3 * 12;
    EXPECT_LT(largest_difference(train(Kind::threads, 1, plain, made_up_data(96))[0].values,
                                 train(Kind::threads, 2, sharded, made_up_data(96))[0].values),
              1e-4F);
  }
}

TEST(Trainer, RefusesShardsThatItsRanksCannotShareEvenly) {
  run_ranks(Kind::threads, 2, [](Device& device, Transport& transport) {
    const DataSet data = made_up_data(10);
    TrainSettings odd = settings(2);
    odd.shards = 3;
    EXPECT_THAT(
        Trainer::create(device, transport, data, odd),
        testing_support::FailsWith(ErrorKind::conflict, "3 virtual shards cannot be dealt evenly to 2 ranks",
                                   "--virtual-shards takes a multiple of the number of ranks"));
  });
}

TEST(Trainer, AccumulatedBatchesMakeTheStepOfALargeOne) {
  const DataSet data = made_up_data(101);
  for (const auto optimizer : {OptimizerSettings::Kind::sgd, OptimizerSettings::Kind::adamw}) {
    TrainSettings large = settings(24), small = settings(8);
    small.accumulate = 3;
    large.optimizer.kind = small.optimizer.kind = optimizer;
    large.optimizer.rate = small.optimizer.rate = 0.01F;
    for (const std::uint32_t ranks : {1U, 2U}) {
      const auto one = train(Kind::threads, ranks, large, data),
                 other = train(Kind::threads, ranks, small, data);
      EXPECT_LT(largest_difference(one[0].values, other[0].values), 1e-4F);
      EXPECT_EQ(one[0].reports[0].steps, other[0].reports[0].steps);
      EXPECT_EQ(one[0].seen, other[0].seen);
    }
  }
}

TEST(Trainer, TheNumberOfLoadersDoesNotChangeABit) {
  const DataSet data = made_up_data(101);
  TrainSettings none = settings(8);
  none.loaders = 0;
  const auto expected = train(Kind::threads, 2, none, data);
  for (const unsigned loaders : {1U, 4U}) {
    TrainSettings some = settings(8);
    some.loaders = loaders;
    EXPECT_TRUE(same_bits(train(Kind::threads, 2, some, data)[1].values, expected[0].values));
  }
}

TEST(Trainer, TakesGivenOrdersAndDropsTheRest) {
  const DataSet data = made_up_data(7);
  TrainSettings given = settings(2);
  given.orders = {{6, 5, 4, 3, 2, 1, 0}, {0, 2, 4, 6, 1, 3, 5}};
  given.epochs = 3;
  using Seen = std::vector<std::uint32_t>;
  auto trained = train(Kind::threads, 3, given, data);
  EXPECT_EQ(trained[1].seen, (Seen{5, 2, 6, 2, 1, 0, 5, 2, 6}));
  given.tail = Tail::drop;
  trained = train(Kind::threads, 3, given, data);
  EXPECT_EQ(trained[1].seen, (Seen{5, 2, 2, 1, 5, 2}));
  EXPECT_EQ(trained[0].reports[0].samples, 6U);
}

TEST(Trainer, TheSizeOfBucketsDoesNotChangeWhatIsLearnt) {
  const DataSet data = made_up_data(96);
  TrainSettings small = settings(8), large = settings(8);
  large.buckets = {};
  EXPECT_LT(largest_difference(train(Kind::threads, 2, small, data)[0].values,
                               train(Kind::threads, 2, large, data)[0].values),
            1e-6F);
}

TEST(Trainer, EachEpochSeesAllSamplesOnceUpToPadding) {
  const DataSet data = made_up_data(50);
  TrainSettings two = settings(4);
  two.epochs = 2;
  const auto trained = train(Kind::threads, 3, two, data);
  const std::size_t per_epoch = 17;
  for (std::size_t epoch = 0; epoch < 2; ++epoch) {
    std::map<std::uint32_t, int> times;
    for (const Trained& rank : trained) {
      ASSERT_EQ(rank.seen.size(), 2 * per_epoch);
      for (std::size_t i = 0; i < per_epoch; ++i) ++times[rank.seen[epoch * per_epoch + i]];
    }
    EXPECT_EQ(times.size(), 50U);
    int sum = 0;
    for (const auto& [index, count] : times) sum += count;
    EXPECT_EQ(sum, 51);
    EXPECT_EQ(trained[0].reports[epoch].samples, 51U);
    EXPECT_EQ(trained[0].reports[epoch].steps, 5U);
  }
}

TEST(Trainer, LearnsAndSaysTheSameOnAllRanks) {
  const DataSet data = made_up_data(400);
  TrainSettings three = settings(10);
  three.epochs = 5;
  const auto trained = train(Kind::threads, 2, three, data);
  for (std::size_t epoch = 0; epoch < 5; ++epoch) {
    EXPECT_EQ(trained[0].reports[epoch].accuracy, trained[1].reports[epoch].accuracy);
    EXPECT_EQ(trained[0].reports[epoch].loss, trained[1].reports[epoch].loss);
  }
  EXPECT_LT(trained[0].reports[4].loss, trained[0].reports[0].loss);
  EXPECT_GT(trained[0].reports[4].accuracy, 0.95);
  // Of 101 images, whatever the number of ranks.
  const double right = trained[0].reports[4].accuracy * 101;
  EXPECT_NEAR(right, std::round(right), 1e-9);
}

TEST(Trainer, EachModelAndOptimizerLearns) {
  const DataSet data = made_up_data(400);
  for (const auto kind : {ModelSpec::Kind::mlp, ModelSpec::Kind::cnn, ModelSpec::Kind::synthetic}) {
    if (kind == ModelSpec::Kind::cnn && !CpuConvolutions::are_there()) continue;
    for (const auto optimizer : {OptimizerSettings::Kind::sgd, OptimizerSettings::Kind::adamw}) {
      TrainSettings five = settings(10);
      five.epochs = 5;
      five.model = {kind, {16}, {16}, 2000, 2};
      five.optimizer.kind = optimizer;
      five.optimizer.rate = optimizer == OptimizerSettings::Kind::sgd ? 0.05F : 0.005F;
      EXPECT_GT(train(Kind::threads, 2, five, data)[0].reports[4].accuracy, 0.9)
          << name(kind) << " " << name(optimizer);
    }
  }
}

TEST(Trainer, RanksThatDifferInSettingsOrDataAreNamed) {
  for (const bool is_data : {false, true})
    run_ranks(Kind::threads, 4, [&](Device& device, Transport& transport) {
      const bool is_odd = transport.rank() == 1 || transport.rank() == 3;
      DataSet data = made_up_data(40);
      if (is_data && is_odd) data.train.values[5] = 1;
      const auto trainer = Trainer::create(device, transport, data, settings(!is_data && is_odd ? 9 : 8));
      ASSERT_FALSE(trainer);
      EXPECT_EQ(trainer.error().kind, ErrorKind::conflict);
      EXPECT_EQ(trainer.error().cause, std::string("ranks 1, 3 have other settings or data than rank 0: ") +
                                           (is_data ? "data" : "batch"));
    });
}

TEST(Trainer, WeightsThatDifferAreNoticed) {
  run_ranks(Kind::threads, 2, [](Device& device, Transport& transport) {
    const DataSet data = made_up_data(40);
    MuteTransport mute(transport);
    auto trainer = Trainer::create(device, mute, data, settings(8));
    ASSERT_THAT(trainer, Succeeds());
    EXPECT_THAT((*trainer)->agreed_weights(), Succeeds());
    ASSERT_THAT((*trainer)->train(1), Succeeds());
    EXPECT_THAT((*trainer)->agreed_weights(),
                testing_support::FailsWith(ErrorKind::conflict, "rank 1 has other weights than rank 0"));
  });
}

}  // namespace
}  // namespace pinstep::worker
