#include "launcher/worker/bench/step.h"

#include "tests/unit/launcher/worker/support/ranks.h"

namespace pinstep::worker {
namespace {

using testing_support::Kind;
using testing_support::run_ranks;
using testing_support::Succeeds;

const StepSettings kSmall{{784, 16, 10}, 4};

TEST(Step, WaitsForAPartOfItsTime) {
  run_ranks(Kind::gloo, 2, [](Device& device, Transport& transport) {
    auto step = Step::create(device, transport, kSmall);
    ASSERT_THAT(step, Succeeds());
    const auto time = (*step)->run();
    ASSERT_THAT(time, Succeeds());
    EXPECT_GT(time->waited, 0);
    EXPECT_GE(time->seconds, time->waited);
    EXPECT_EQ((*step)->gradient_bytes(), (784 * 16 + 16 + 16 * 10 + 10) * sizeof(float));
  });
}

TEST(Step, OneBucketOrMany) {
  run_ranks(Kind::threads, 2, [](Device& device, Transport& transport) {
    auto step = Step::create(device, transport, kSmall);
    ASSERT_THAT(step, Succeeds());
    ASSERT_THAT((*step)->use({1, 1}), Succeeds());
    EXPECT_EQ((*step)->buckets(), 4U);
    ASSERT_THAT((*step)->run(), Succeeds());
    ASSERT_THAT((*step)->use({1U << 30, 1U << 30}), Succeeds());
    EXPECT_EQ((*step)->buckets(), 1U);
    ASSERT_THAT((*step)->run(), Succeeds());
  });
}

TEST(Overlap, IsInconclusiveWhereNothingIsLikeItself) {
  Overlap overlap;
  overlap.noise = {1, 0.96, 1.04};
  EXPECT_FALSE(overlap.is_inconclusive());
  overlap.noise = {1, 0.94, 1.01};
  EXPECT_TRUE(overlap.is_inconclusive());
  overlap.noise = {1, 0.99, 1.06};
  EXPECT_TRUE(overlap.is_inconclusive());
}

}  // namespace
}  // namespace pinstep::worker
