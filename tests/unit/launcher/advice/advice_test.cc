#include "launcher/advice/advice.h"

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

TEST(SlurmVersion, IsReadFromWhatSrunPrints) {
  const struct {
    const char* text;
    std::optional<SlurmVersion> version;
  } cases[] = {
      {"slurm-wlm 22.05.8\n", SlurmVersion{22, 5}},
      {"slurm 23.11.1-2", SlurmVersion{23, 11}},
      {"slurm 25.05.0-0rc1", SlurmVersion{25, 5}},
      {"slurm", std::nullopt},
      {"", std::nullopt},
      {"slurm x.y", std::nullopt},
  };
  for (const auto& [text, version] : cases) EXPECT_EQ(SlurmVersion::parse(text), version) << text;
}

TEST(IsolationAdvice, NamesWhatThisSlurmHas) {
  const auto has = [](const std::string& text, const char* word) {
    return text.find(word) != std::string::npos;
  };
  for (const bool with_plugin : {false, true})
    for (const auto slurm :
         {std::optional<SlurmVersion>(), std::optional(SlurmVersion{22, 5}), std::optional(SlurmVersion{23, 2}),
          std::optional(SlurmVersion{23, 11}), std::optional(SlurmVersion{24, 5})}) {
      const std::string advice = isolation_advice(slurm, with_plugin);
      EXPECT_TRUE(has(advice, "SLURM_GPU_BIND=none"));
      EXPECT_EQ(has(advice, "--env-gpu-share"), with_plugin);
      const bool is_new = slurm >= SlurmVersion{23, 11};
      EXPECT_EQ(has(advice, "--gres-flags=allow-task-sharing"), is_new) << advice;
    }
}

TEST(IsolationAdvice, IsASentence) {
  EXPECT_EQ(
      isolation_advice(SlurmVersion{23, 11}, true),
      "each rank can open its own GPU only, as cuda:0, so that peer-to-peer transfers may fail (sbatch "
      "--env-gpu-share or srun --gres-flags=allow-task-sharing or SLURM_GPU_BIND=none in srun's environment "
      "lets them reach each other's)");
}

// Two ranks of a node with 4 GPUs, 64 cores and two threads in each.
NodeMap node(std::uint32_t cores_each, std::size_t gpus_each = 1) {
  NodeMap map;
  map.node_cores = 64;
  map.node_gpus = 4;
  map.threads_per_core = 2;
  map.gpus.resize(2 * gpus_each);
  for (std::uint32_t rank = 0; rank < 2; ++rank) {
    MappedRank one;
    for (std::uint32_t i = 0; i < gpus_each; ++i)
      one.gpus.push_back(static_cast<std::uint32_t>(rank * gpus_each + i));
    for (std::uint32_t cpu = 0; cpu < 2 * cores_each; ++cpu) one.pus.add(rank * 64 + cpu);
    one.cores = cores_each;
    map.ranks.push_back(one);
  }
  return map;
}

TEST(StarvationAdvice, IsForRanksWithAFewOfTheirPartOfTheCores) {
  EXPECT_EQ(starvation_advice(node(1), {}),
            "a rank has 1 core for its GPU; the node has 16 per GPU: add --cpus-per-task=32");
  EXPECT_EQ(starvation_advice(node(4, 2), {}),
            "a rank has 4 cores for its 2 GPUs; the node has 16 per GPU: add --cpus-per-task=64");
  EXPECT_EQ(starvation_advice(node(5), {}), std::nullopt);
  EXPECT_EQ(starvation_advice(node(16), {}), std::nullopt);
}

TEST(StarvationAdvice, KnowsThatSrunForgetsWhatSbatchWasTold) {
  const Environment job(Environment::Variables{{"SLURM_CPUS_PER_TASK", "32"}});
  EXPECT_EQ(
      starvation_advice(node(1), job),
      "a rank has 1 core for its GPU; the node has 16 per GPU: srun does not take sbatch's --cpus-per-task=32, "
      "give it to srun");
}

TEST(StarvationAdvice, IsNotForRanksWithoutGpusOrPlaces) {
  NodeMap map = node(1);
  for (MappedRank& rank : map.ranks) rank.pus = {};
  EXPECT_EQ(starvation_advice(map, {}), std::nullopt);
  map = node(1);
  for (MappedRank& rank : map.ranks) rank.gpus.clear();
  EXPECT_EQ(starvation_advice(map, {}), std::nullopt);
  EXPECT_EQ(starvation_advice(NodeMap(), {}), std::nullopt);
}

}  // namespace
}  // namespace pinstep
