#include "launcher/topology/correct.h"

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// Two switches with a GPU and a card each, at a memory node each.
NcclTopology two_switches() {
  auto told = parse_nccl_topology(R"(<system>
    <cpu numaid="0" affinity="3">
      <pci busid="ffff:ff:01.0"><pci busid="0001:00:00.0"/><pci busid="0101:00:00.0"/></pci>
    </cpu>
    <cpu numaid="1" affinity="c">
      <pci busid="ffff:ff:02.0"><pci busid="0002:00:00.0"/><pci busid="0102:00:00.0"/></pci>
    </cpu></system>)",
                                  "x.xml");
  EXPECT_TRUE(told);
  return told ? std::move(*told) : NcclTopology();
}

// What a hypervisor shows: each device at a host bridge of its own, near everything. `nodes` of four
// processors.
Machine flat(std::vector<std::uint32_t> nodes, std::vector<std::uint32_t> packages) {
  Machine machine;
  Bits all, all_packages;
  for (std::uint32_t pu = 0; pu < 4; ++pu) {
    machine.cores.push_back({{pu}, nodes[pu], packages[pu]});
    machine.allowed.add(pu);
    all.add(nodes[pu]);
    all_packages.add(packages[pu]);
  }
  std::uint32_t bridge = 0;
  for (const std::uint32_t domain : {0x1U, 0x2U, 0x3U}) {
    Gpu gpu;
    gpu.address.domain = domain;
    gpu.at = {{bridge++}, all, all_packages};
    machine.gpus.push_back(gpu);
    Nic nic;
    nic.address.domain = 0x100 + domain;
    nic.name = "mlx5_" + std::to_string(domain);
    nic.at = {{bridge++}, all, all_packages};
    machine.nics.push_back(nic);
  }
  return machine;
}

std::vector<Level> levels(const Machine& machine, std::size_t gpu) {
  std::vector<Level> found;
  for (const Nic& nic : machine.nics) found.push_back(level(machine.gpus[gpu].at, nic.at));
  return found;
}

TEST(CorrectPlaces, GivesDevicesThePlacesOfTheFile) {
  Machine machine = flat({0, 0, 1, 1}, {0, 0, 1, 1});
  EXPECT_THAT(levels(machine, 0), ElementsAre(Level::sys, Level::sys, Level::sys));
  correct_places(two_switches(), "x.xml", machine);
  EXPECT_THAT(machine.doubts, IsEmpty());
  EXPECT_THAT(levels(machine, 0), ElementsAre(Level::pix, Level::sys, Level::sys));
  EXPECT_THAT(levels(machine, 1), ElementsAre(Level::sys, Level::pix, Level::sys));
  EXPECT_EQ(machine.gpus[0].home(), Bits{0});
  EXPECT_EQ(machine.gpus[1].home(), Bits{1});
  EXPECT_EQ(machine.gpus[2].home(), (Bits{0, 1}));  // the file has no third
}

TEST(CorrectPlaces, TakesPackagesFromTheMachine) {
  Machine machine = flat({0, 0, 1, 1}, {0, 0, 0, 0});
  correct_places(two_switches(), "x.xml", machine);
  EXPECT_THAT(levels(machine, 0), ElementsAre(Level::pix, Level::pkg, Level::pkg));
}

TEST(CorrectPlaces, KeepsDistancesWhereMemoryNodesAreHiddenToo) {
  Machine machine = flat({0, 0, 0, 0}, {0, 0, 0, 0});
  correct_places(two_switches(), "x.xml", machine);
  EXPECT_THAT(levels(machine, 0), ElementsAre(Level::pix, Level::sys, Level::sys));
  EXPECT_EQ(machine.gpus[0].home(), Bits{0});
  EXPECT_EQ(machine.gpus[1].home(), Bits{0});
}

TEST(CorrectPlaces, FindsTheMemoryNodeByItsProcessors) {
  Machine machine = flat({5, 5, 4, 4}, {0, 0, 1, 1});
  correct_places(two_switches(), "x.xml", machine);
  EXPECT_EQ(machine.gpus[0].home(), Bits{5});
  EXPECT_EQ(machine.gpus[1].home(), Bits{4});
}

TEST(CorrectPlaces, AFileOfAnotherMachineIsDoubted) {
  Machine machine = flat({0, 0, 1, 1}, {0, 0, 1, 1});
  for (Gpu& gpu : machine.gpus) gpu.address.bus = 7;
  for (Nic& nic : machine.nics) nic.address.bus = 7;
  correct_places(two_switches(), "x.xml", machine);
  EXPECT_THAT(machine.doubts, ElementsAre("'x.xml' names no GPU and no card of this node"));
  EXPECT_THAT(levels(machine, 0), ElementsAre(Level::sys, Level::sys, Level::sys));
}

}  // namespace
}  // namespace pinstep
