#include "launcher/worker/train/identity.h"

#include <functional>

#include "launcher/worker/train/trainer.h"
#include "tests/unit/launcher/worker/support/data.h"
#include "tests/unit/launcher/worker/support/ranks.h"

namespace pinstep::worker {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::made_up_data;

// What becomes of a run that goes on with this changed, and what of ranks that differ in it.
enum class Role {
  fixed,   // refused; refused
  free,    // told; refused
  agreed,  // nothing; refused
  own,     // nothing; nothing
};

struct Case {
  std::string what;
  std::function<void(TrainSettings&)> change;
  Role role;
  std::string said;  // to people
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.what; }

TrainSettings before() {
  TrainSettings settings;
  settings.batch = 8;
  settings.model.hidden = {6};
  return settings;
}

const std::vector<Case> kCases{
    {"hidden", [](auto& s) { s.model.hidden = {7}; }, Role::fixed, "model: mlp 16-6-4, not mlp 16-7-4"},
    {"kind of model",
     [](auto& s) {
       s.model = {ModelSpec::Kind::synthetic, {}, {}, 500, 2};
     },
     Role::fixed, "model: mlp 16-6-4, not synthetic 16-14-14-4"},
    {"optimizer", [](auto& s) { s.optimizer.kind = OptimizerSettings::Kind::adamw; }, Role::fixed,
     "optimizer: sgd, not adamw"},
    {"seed", [](auto& s) { s.seed = 2; }, Role::fixed, "seed: 1, not 2"},
    {"order",
     [](auto& s) {
       s.orders = {{2, 1, 0, 3}};
     },
     Role::fixed, "order"},
    {"drop-last", [](auto& s) { s.tail = Tail::drop; }, Role::fixed, "drop-last: no, not yes"},
    {"virtual-shards", [](auto& s) { s.shards = 2; }, Role::fixed, "virtual-shards: 0, not 2"},
    {"batch", [](auto& s) { s.batch = 4; }, Role::free, "batch 4 instead of 8"},
    {"accumulate", [](auto& s) { s.accumulate = 2; }, Role::free, "accumulate 2 instead of 1"},
    {"lr", [](auto& s) { s.optimizer.rate = 0.25F; }, Role::free, "lr 0.25 instead of 0.05"},
    {"momentum", [](auto& s) { s.optimizer.momentum = 0.5F; }, Role::free, "momentum 0.5 instead of 0.9"},
    {"weight-decay", [](auto& s) { s.optimizer.decay = 0.5F; }, Role::free, "weight-decay 0.5 instead of 0"},
    {"bucket", [](auto& s) { s.buckets.other = 100; }, Role::free, "bucket 100 instead of 26214400"},
    {"first-bucket", [](auto& s) { s.buckets.first = 100; }, Role::free, "first-bucket 100 instead of 1048576"},
    {"epochs", [](auto& s) { s.epochs = 4; }, Role::agreed, ""},
    {"steps", [](auto& s) { s.most_steps = 5'000'000'001; }, Role::agreed, ""},
    {"checkpoint", [](auto& s) { s.is_kept = true; }, Role::agreed, ""},
    {"checkpoint-steps", [](auto& s) { s.kept_every = 7; }, Role::agreed, ""},
    {"loaders", [](auto& s) { s.loaders = 0; }, Role::own, ""},
};

class EachSetting : public testing::TestWithParam<Case> {};
INSTANTIATE_TEST_SUITE_P(Identity, EachSetting, testing::ValuesIn(kCases));

Identity identity(const TrainSettings& settings, const DataSet& data) {
  const auto layers = plan_layers(settings.model, {4, 4, 4});
  return identity_of(settings, *layers, data);
}

Checkpoint checkpoint_of(const Identity& identity) {
  Checkpoint checkpoint;
  checkpoint.settings = identity.fixed;
  checkpoint.settings.insert(identity.free.begin(), identity.free.end());
  return checkpoint;
}

TEST_P(EachSetting, IsRefusedOrToldWhereARunGoesOn) {
  const DataSet data = made_up_data(4);
  TrainSettings changed = before();
  GetParam().change(changed);
  const Identity now = identity(changed, data);
  const Checkpoint checkpoint = checkpoint_of(identity(before(), data));
  if (GetParam().role == Role::fixed) {
    EXPECT_THAT(check_same_run(now, checkpoint),
                testing_support::FailsWith(ErrorKind::conflict,
                                           "the checkpoint is of a run with another " + GetParam().said,
                                           "give what that run was given, or another directory"));
    return;
  }
  EXPECT_THAT(check_same_run(now, checkpoint), testing_support::Succeeds());
  if (GetParam().role == Role::free)
    EXPECT_THAT(changes(now, checkpoint), ElementsAre(GetParam().said));
  else
    EXPECT_THAT(changes(now, checkpoint), IsEmpty());
}

TEST_P(EachSetting, IsTheSameOnAllRanksOrTheyDoNotBegin) {
  testing_support::run_ranks(testing_support::Kind::threads, 2, [](Device& device, Transport& transport) {
    const DataSet data = made_up_data(4);
    TrainSettings mine = before();
    if (transport.rank() == 1) GetParam().change(mine);
    const auto trainer = Trainer::create(device, transport, data, mine);
    if (GetParam().role == Role::own) {
      EXPECT_THAT(trainer, testing_support::Succeeds());
      return;
    }
    ASSERT_FALSE(trainer);
    EXPECT_THAT(trainer.error().cause, testing::StartsWith("rank 1 has other settings or data than rank 0: "));
  });
}

TEST(Identity, IsOfTheDataToo) {
  DataSet other = made_up_data(4);
  other.train.labels[1] ^= 1;
  EXPECT_THAT(check_same_run(identity(before(), other), checkpoint_of(identity(before(), made_up_data(4)))),
              testing_support::FailsWith(ErrorKind::conflict, "the checkpoint is of a run with another data",
                                         "give what that run was given, or another directory"));
}

TEST(Identity, OfACheckpointThatSaysNothingIsNone) {
  EXPECT_FALSE(check_same_run(identity(before(), made_up_data(4)), Checkpoint{}));
}

TEST(Identity, OfAdamWHasNoMomentum) {
  TrainSettings adamw = before(), other;
  adamw.optimizer.kind = OptimizerSettings::Kind::adamw;
  other = adamw;
  other.optimizer.momentum = 0.1F;
  const DataSet data = made_up_data(4);
  EXPECT_THAT(changes(identity(other, data), checkpoint_of(identity(adamw, data))), IsEmpty());
}

TEST(Identity, OfVirtualShardsHasNoBuckets) {
  TrainSettings sharded = before(), other;
  sharded.shards = 2;
  other = sharded;
  other.buckets = {1, 1};
  const DataSet data = made_up_data(4);
  EXPECT_THAT(changes(identity(other, data), checkpoint_of(identity(sharded, data))), IsEmpty());
}

}  // namespace
}  // namespace pinstep::worker
