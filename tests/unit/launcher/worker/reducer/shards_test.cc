#include "launcher/worker/reducer/shards.h"

#include "launcher/worker/data/random.h"
#include "tests/unit/launcher/worker/support/ranks.h"

namespace pinstep::worker {
namespace {

using testing_support::array;
using testing_support::Kind;
using testing_support::run_ranks;
using testing_support::Succeeds;
using Floats = std::vector<float>;

// Of very different sizes, so that the order of additions shows.
Floats gradients_of(std::uint32_t shard, std::size_t count) {
  CounterRandom random(5, shard);
  Floats values(count);
  for (float& value : values) value = (random.uniform() - 0.5F) * (random.below(2) == 0 ? 1e-4F : 1e4F);
  return values;
}

TEST(ShardSum, IsTheSumInTheOrderOfShardsForEachNumberOfRanks) {
  constexpr std::uint32_t kShards = 12;
  for (const std::size_t count : {1U, 5U, 13U, 1000U}) {
    Floats expected = gradients_of(0, count);
    for (std::uint32_t shard = 1; shard < kShards; ++shard) {
      const Floats other = gradients_of(shard, count);
      for (std::size_t i = 0; i < count; ++i) expected[i] += other[i];
    }
    for (const Kind kind : {Kind::threads, Kind::gloo})
      for (const std::uint32_t ranks : {1U, 2U, 3U, 4U, 6U, 12U})
        run_ranks(kind, ranks, [&](Device& device, Transport& transport) {
          Floats gradients(count);
          auto sum = ShardSum::create(device, transport, array(gradients), kShards, {});
          ASSERT_THAT(sum, Succeeds());
          for (int step = 0; step < 2; ++step) {
            const std::uint32_t mine = kShards / ranks;
            for (std::uint32_t shard = 0; shard < mine; ++shard) {
              const Floats own = gradients_of(transport.rank() * mine + shard, count);
              std::copy(own.begin(), own.end(), gradients.begin());  // they stay where they are
              ASSERT_THAT(sum->keep(shard), Succeeds());
            }
            ASSERT_THAT(sum->finish(), Succeeds());
            ASSERT_EQ(gradients, expected) << count << " elements, " << ranks << " ranks";
          }
        });
  }
}

}  // namespace
}  // namespace pinstep::worker
