#include "launcher/worker/reducer/reducer.h"

#include "tests/unit/launcher/worker/support/ranks.h"

namespace pinstep::worker {
namespace {

using testing_support::array;
using testing_support::FailsWith;
using testing_support::Kind;
using testing_support::run_ranks;
using testing_support::Succeeds;

TEST(PlanBuckets, TakesParametersUntilTheSizeIsReached) {
  constexpr std::size_t kMega = 1 << 20, kElements = kMega / 4;
  const struct {
    std::vector<std::size_t> elements;
    std::vector<Bucket> buckets;
  } cases[] = {
      {{}, {}},
      {{10}, {{0, 10, 0, 1}}},
      {{10, 20, 30}, {{0, 60, 0, 3}}},
      {{kElements, 1}, {{0, kElements, 0, 1}, {kElements, 1, 1, 1}}},
      // The first is full at 1 MB, the others at 25 MB; a large parameter is not cut.
      {{1, kElements, 25 * kElements - 1, 1, 30 * kElements, 7},
       {{0, kElements + 1, 0, 2},
        {kElements + 1, 25 * kElements, 2, 2},
        {26 * kElements + 1, 30 * kElements, 4, 1},
        {56 * kElements + 1, 7, 5, 1}}},
  };
  for (const auto& [elements, buckets] : cases) EXPECT_EQ(plan_buckets(elements, {}), buckets);
}

TEST(PlanBuckets, SizeOneMakesABucketOfEachParameter) {
  const auto buckets = plan_buckets({5, 6, 7}, {1, 1});
  EXPECT_EQ(buckets, (std::vector<Bucket>{{0, 5, 0, 1}, {5, 6, 1, 1}, {11, 7, 2, 1}}));
}

TEST(Reducer, AddsUpAllBucketsStepAfterStep) {
  for (const BucketSizes sizes : {BucketSizes{}, BucketSizes{1, 1}, BucketSizes{1, 40}})
    run_ranks(Kind::threads, 3, [&](Device& device, Transport& transport) {
      std::vector<float> gradients(18);
      const std::vector<std::size_t> elements{5, 6, 7};
      auto reducer = Reducer::create(device, transport, array(gradients), plan_buckets(elements, sizes), {});
      ASSERT_THAT(reducer, Succeeds());
      for (int step = 0; step < 50; ++step) {
        std::size_t at = 0;
        for (std::size_t parameter = 0; parameter < elements.size(); ++parameter) {
          for (std::size_t i = 0; i < elements[parameter]; ++i, ++at)
            gradients[at] = static_cast<float>(step + at * (transport.rank() + 1));
          ASSERT_THAT((*reducer)->ready(parameter), Succeeds());
        }
        ASSERT_THAT((*reducer)->finish(), Succeeds());
        for (std::size_t i = 0; i < at; ++i) ASSERT_EQ(gradients[i], static_cast<float>(3 * step + i * 6));
      }
    });
}

TEST(Reducer, TellsOfParametersThatAreOutOfOrderOrMissing) {
  run_ranks(Kind::threads, 1, [](Device& device, Transport& transport) {
    std::vector<float> gradients(3);
    auto reducer = Reducer::create(device, transport, array(gradients), plan_buckets({1, 2}, {}), {});
    ASSERT_THAT(reducer, Succeeds());
    EXPECT_THAT((*reducer)->ready(1), FailsWith(ErrorKind::invalid, "gradient 1 is out of order"));
    EXPECT_THAT((*reducer)->finish(), FailsWith(ErrorKind::invalid, "not all gradients are ready"));
  });
}

TEST(Reducer, AnErrorOfTheTransportComesOutOfFinish) {
  run_ranks(
      Kind::threads, 2,
      [](Device& device, Transport& transport) {
        if (transport.rank() == 1) return;  // never comes
        std::vector<float> gradients(4);
        auto reducer =
            Reducer::create(device, transport, array(gradients), plan_buckets({1, 1, 2}, {1, 1}), {});
        ASSERT_THAT(reducer, Succeeds());
        for (std::size_t parameter = 0; parameter < 3; ++parameter)
          ASSERT_THAT((*reducer)->ready(parameter), Succeeds());
        EXPECT_THAT((*reducer)->finish(),
                    FailsWith(ErrorKind::timed_out, "all-reduce did not end within 100 ms"));
      },
      Milliseconds(100));
}

}  // namespace
}  // namespace pinstep::worker
