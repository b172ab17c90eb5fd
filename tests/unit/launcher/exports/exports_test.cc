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

Variables exported(const NodeMap& map, std::uint32_t rank, const ExportRequest& request = {},
                   const Environment& environment = {}) {
  const auto list = exported_variables(map, rank, environment, request);
  return {list.begin(), list.end()};
}

constexpr ExportRequest kOwn{Visible::own, Program::rank, {}, {}};

TEST(Exports, TheListOfDevicesIsTheSameForAllRanks) {
  const Variables expected{{"CUDA_VISIBLE_DEVICES", "1,3"},
                           {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                           {"NCCL_IB_HCA", "=mlx5_0,mlx5_3"},
                           {"OMP_NUM_THREADS", "2"},
                           {"OMPI_MCA_hwloc_base_binding_policy", "none"},
                           {"PRTE_MCA_hwloc_default_binding_policy", "none"}};
  EXPECT_EQ(exported(node(), 0), expected);
  EXPECT_EQ(exported(node(), 1), expected);
}

TEST(Exports, ARankWithoutAGpuSeesNone) {
  const Variables expected{
      {"CUDA_VISIBLE_DEVICES", ""}, {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"}, {"NCCL_IB_HCA", "=mlx5_0,mlx5_3"}};
  EXPECT_EQ(exported(node(), 2), expected);
}

TEST(Exports, OwnDevices) { EXPECT_EQ(exported(node(), 1, kOwn).at("CUDA_VISIBLE_DEVICES"), "3"); }

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
  NodeMap map = node();
  map.gpus[0].nic = "mlx5_0";
  const ExportRequest all{Visible::all, Program::rank, "ib0", "/file.xml"};
  Environment set;
  for (const auto& [name, value] : exported(map, 0, all)) {
    EXPECT_EQ(exported(map, 0, all, Environment(Environment::Variables{{name, "users"}})).count(name), 0U)
        << name;
    set.set(name, "users");
  }
  EXPECT_EQ(exported(map, 0, all, set), Variables());
}

TEST(Exports, WhatSlurmHasSetIsReplaced) {
  const Environment slurms({{"CUDA_VISIBLE_DEVICES", "1"}, {"SLURM_STEP_GPUS", "1"}});
  EXPECT_EQ(exported(node(), 0, {}, slurms).at("CUDA_VISIBLE_DEVICES"), "1,3");
}

TEST(Exports, AnIndexNeedsBusOrder) {
  Environment fastest;
  fastest.set("CUDA_DEVICE_ORDER", "FASTEST_FIRST");
  EXPECT_EQ(exported(node(), 0, {}, fastest).count("CUDA_VISIBLE_DEVICES"), 0U);
}

TEST(Exports, OtherNodesAreLeftAlone) {
  NodeMap map = node();
  map.gpus.clear();
  map.ranks = {{{}, {0}, 1, 0}};
  EXPECT_EQ(exported(map, 0), (Variables{{"OMP_NUM_THREADS", "1"},
                                         {"OMPI_MCA_hwloc_base_binding_policy", "none"},
                                         {"PRTE_MCA_hwloc_default_binding_policy", "none"}}));
  NodeMap slingshot = node();
  slingshot.nics[1].has_verbs = false;
  EXPECT_EQ(exported(slingshot, 0).count("NCCL_IB_HCA"), 0U);
  EXPECT_EQ(exported(node(), 9), Variables());
}

TEST(Exports, AmdsGpusByTheSameRule) {
  NodeMap map = node();
  for (MappedGpu& gpu : map.gpus) gpu.vendor = Vendor::amd;
  EXPECT_EQ(exported(map, 1).at("ROCR_VISIBLE_DEVICES"), "1,3");
  EXPECT_EQ(exported(map, 1).count("CUDA_VISIBLE_DEVICES"), 0U);
  EXPECT_EQ(exported(map, 1, kOwn).at("ROCR_VISIBLE_DEVICES"), "3");
  for (const auto* name : {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES"})
    EXPECT_EQ(
        exported(map, 1, {}, Environment(Environment::Variables{{name, "0"}})).count("ROCR_VISIBLE_DEVICES"),
        0U)
        << name;
  const Environment slurms({{"ROCR_VISIBLE_DEVICES", "1"}, {"SLURM_STEP_GPUS", "1"}});
  EXPECT_EQ(exported(map, 1, {}, slurms).at("ROCR_VISIBLE_DEVICES"), "1,3");
}

TEST(Exports, UcxHasTheCardsOfTheRanksOwnGpus) {
  NodeMap map = node();
  map.gpus[0].nic = "mlx5_3";
  map.gpus[1].nic = "mlx5_0";
  EXPECT_EQ(exported(map, 0).at("UCX_NET_DEVICES"), "mlx5_3:1");
  map.ranks[0].gpus = {0, 1};
  EXPECT_EQ(exported(map, 0).at("UCX_NET_DEVICES"), "mlx5_3:1,mlx5_0:1");
  map.gpus[1].nic = "mlx5_3";
  EXPECT_EQ(exported(map, 0).at("UCX_NET_DEVICES"), "mlx5_3:1");
  EXPECT_EQ(exported(map, 2).count("UCX_NET_DEVICES"), 0U);
}

TEST(Exports, TheInterfaceIsNamedExactly) {
  const ExportRequest request{Visible::all, Program::rank, "ib0", {}};
  EXPECT_EQ(exported(node(), 0, request).at("NCCL_SOCKET_IFNAME"), "=ib0");
  EXPECT_EQ(exported(node(), 0, request).at("GLOO_SOCKET_IFNAME"), "ib0");
}

TEST(Exports, NcclMaySpreadOverEthernet) {
  NodeMap map = node();
  map.nics = {{"eth0", Network::ethernet, false}, {"eth1", Network::ethernet, false}};
  const ExportRequest request{Visible::all, Program::rank, "eth0", {}};
  EXPECT_EQ(exported(map, 0, request).count("NCCL_SOCKET_IFNAME"), 0U);
  EXPECT_EQ(exported(map, 0, request).at("GLOO_SOCKET_IFNAME"), "eth0");
}

TEST(Exports, WhoStartsRanksIsToldNothingOfOne) {
  NodeMap map = node();
  map.gpus[0].nic = "mlx5_0";
  EXPECT_EQ(exported(map, 0, {Visible::all, Program::starts_them, {}, {}}),
            (Variables{{"CUDA_VISIBLE_DEVICES", "1,3"},
                       {"CUDA_DEVICE_ORDER", "PCI_BUS_ID"},
                       {"NCCL_IB_HCA", "=mlx5_0,mlx5_3"}}));
}

TEST(Exports, TheWayOpenMpThreadsAreBoundIsNeverSet) {
  for (const auto& [name, value] : exported(node(), 0)) {
    EXPECT_NE(name, "OMP_PLACES");
    EXPECT_NE(name, "OMP_PROC_BIND");
  }
}

}  // namespace
}  // namespace pinstep
