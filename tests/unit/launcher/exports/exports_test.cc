#include "launcher/exports/exports.h"

#include <map>

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using Variables = std::map<std::string, std::string>;

// Ranks 0 and 1 with GPUs 1 and 3 of a node, on two cores each; rank 2 has none.
NodeMap node() {
  NodeMap map;
  map.gpus.resize(2);
  map.gpus[0].index = 1;
  map.gpus[1].index = 3;
  map.nics = {{"mlx5_0", Network::fabric, true}, {"mlx5_3", Network::fabric, true}};
  map.ranks = {{{0}, {0, 1}, 2, 0}, {{1}, {2, 3}, 2, 0}, {{}, {}, 0, {}}};
  return map;
}

Variables exported(const NodeMap& map, std::uint32_t rank, Visible visible = Visible::all,
                   const Environment& environment = {}) {
  const auto list = exported_variables(map, rank, environment, visible);
  return {list.begin(), list.end()};
}

TEST(Exports, TheListOfDevicesIsTheSameForAllRanks) {
  const Variables expected{{"CUDA_VISIBLE_DEVICES", "1,3"},
                           {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                           {"NCCL_IB_HCA", "=mlx5_0,mlx5_3"},
                           {"OMP_NUM_THREADS", "2"}};
  EXPECT_EQ(exported(node(), 0), expected);
  EXPECT_EQ(exported(node(), 1), expected);
}

TEST(Exports, ARankWithoutAGpuSeesNone) {
  const Variables expected{
      {"CUDA_VISIBLE_DEVICES", ""}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}, {"NCCL_IB_HCA", "=mlx5_0,mlx5_3"}};
  EXPECT_EQ(exported(node(), 2), expected);
}

TEST(Exports, OwnDevices) { EXPECT_EQ(exported(node(), 1, Visible::own).at("CUDA_VISIBLE_DEVICES"), "3"); }

TEST(Exports, UuidsWhereAllAreKnown) {
  NodeMap map = node();
  map.gpus[0].uuid = "GPU-a";
  EXPECT_EQ(exported(map, 0).at("CUDA_VISIBLE_DEVICES"), "1,3");
  map.gpus[1].uuid = "GPU-b";
  const Variables variables = exported(map, 0);
  EXPECT_EQ(variables.at("CUDA_VISIBLE_DEVICES"), "GPU-a,GPU-b");
  EXPECT_EQ(variables.count("CUDA_DEVICE_ORDER"), 0U);
}

TEST(Exports, UnderIsolationARankCountsItsOwn) {
  NodeMap map = node();
  map.isolated = true;
  EXPECT_EQ(exported(map, 1).at("CUDA_VISIBLE_DEVICES"), "0");
}

TEST(Exports, WhatIsSetStays) {
  const Environment set({{"CUDA_VISIBLE_DEVICES", "7"}, {"NCCL_IB_HCA", "mlx5_1"}, {"OMP_NUM_THREADS", "9"}});
  EXPECT_EQ(exported(node(), 0, Visible::all, set), Variables());
}

TEST(Exports, WhatSlurmHasSetIsReplaced) {
  const Environment slurms({{"CUDA_VISIBLE_DEVICES", "1"}, {"SLURM_STEP_GPUS", "1"}});
  EXPECT_EQ(exported(node(), 0, Visible::all, slurms).at("CUDA_VISIBLE_DEVICES"), "1,3");
}

TEST(Exports, AnIndexNeedsBusOrder) {
  Environment fastest;
  fastest.set("CUDA_DEVICE_ORDER", "FASTEST_FIRST");
  EXPECT_EQ(exported(node(), 0, Visible::all, fastest).count("CUDA_VISIBLE_DEVICES"), 0U);
}

TEST(Exports, OtherNodesAreLeftAlone) {
  NodeMap map = node();
  map.gpus.clear();
  map.ranks = {{{}, {0}, 1, 0}};
  EXPECT_EQ(exported(map, 0), (Variables{{"OMP_NUM_THREADS", "1"}}));
  NodeMap slingshot = node();
  slingshot.nics[1].has_verbs = false;
  EXPECT_EQ(exported(slingshot, 0).count("NCCL_IB_HCA"), 0U);
  EXPECT_EQ(exported(node(), 9), Variables());
}

}  // namespace
}  // namespace pinstep
