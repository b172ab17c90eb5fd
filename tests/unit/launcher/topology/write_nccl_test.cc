#include "launcher/topology/write_nccl.h"

#include <filesystem>

#include "launcher/topology/nccl_topology.h"
#include "launcher/topology/topology.h"
#include "tests/unit/support/results.h"
#include "tests/unit/support/testdata.h"

namespace pinstep {
namespace {

using testing_support::Succeeds;

// What NCCL's file can say of a place.
Level as_nccl_has_it(Level level) {
  if (level == Level::node) return Level::phb;
  return level == Level::pkg ? Level::sys : level;
}

// Every pair of a GPU and a card is as far apart as before.
void expect_same_places(const Machine& before, const std::string& what) {
  const std::string text = write_nccl_topology(before);
  const auto after = parse_nccl_topology(text, "written");
  ASSERT_THAT(after, Succeeds()) << what << "\n" << text;
  for (const Gpu& gpu : before.gpus)
    for (const Nic& nic : before.nics) {
      if (!nic.is_on_bus) continue;
      ASSERT_TRUE(after->places.count(gpu.address) && after->places.count(nic.address)) << what;
      EXPECT_EQ(to_string(level(after->places.at(gpu.address), after->places.at(nic.address))),
                to_string(as_nccl_has_it(level(gpu.at, nic.at))))
          << what << ": " << gpu.address.text() << " and " << nic.name << "\n"
          << text;
    }
}

Gpu gpu(std::uint8_t bus, std::vector<std::uint32_t> bridges, std::uint32_t node = 0) {
  Gpu gpu;
  gpu.address = {0, bus, 0, 0};
  gpu.at = {std::move(bridges), {node}, {node}};
  return gpu;
}

Nic nic(std::uint8_t bus, std::vector<std::uint32_t> bridges, std::uint32_t node = 0) {
  Nic nic;
  nic.address = {0, bus, 0, 0};
  nic.name = "mlx5_" + std::to_string(bus);
  nic.network = Network::fabric;
  nic.at = {std::move(bridges), {node}, {node}};
  return nic;
}

TEST(WriteNccl, IsASwitchForEachThatHasSeveralDevices) {
  Machine machine;
  machine.cores = {{{0, 32}, 0, 0}, {{1}, 1, 1}};
  machine.gpus = {gpu(3, {0, 1, 2}), gpu(5, {9, 10}, 1)};
  machine.nics = {nic(4, {0, 1, 3})};
  EXPECT_EQ(
      write_nccl_topology(machine),
      "<system version=\"1\">\n"
      "  <cpu numaid=\"0\" affinity=\"00000001,00000001\">\n"
      "    <pci busid=\"ffff:ff:00.1\" class=\"0x060400\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">\n"
      "      <pci busid=\"0000:03:00.0\" class=\"0x030200\"/>\n"
      "      <pci busid=\"0000:04:00.0\" class=\"0x020700\"/>\n"
      "    </pci>\n"
      "  </cpu>\n"
      "  <cpu numaid=\"1\" affinity=\"00000002\">\n"
      "    <pci busid=\"0000:05:00.0\" class=\"0x030200\"/>\n"
      "  </cpu>\n"
      "</system>\n");
  expect_same_places(machine, "one switch");
}

TEST(WriteNccl, KeepsEveryDistance) {
  Machine machine;
  machine.cores = {{{0}, 0, 0}, {{1}, 1, 1}};
  machine.gpus = {gpu(1, {0, 1, 2}), gpu(2, {0, 1, 3, 4, 5}), gpu(3, {7, 8}), gpu(4, {20}, 1)};
  machine.nics = {nic(11, {0, 1, 6}), nic(12, {0, 1, 3, 4, 9}), nic(13, {0, 10}), nic(14, {7, 11}),
                  nic(15, {0, 1, 12, 13, 14})};
  expect_same_places(machine, "switches below switches");
}

// The files of machines that have both; of NCCL's files PIX and PXB are told apart by the same parser.
TEST(WriteNccl, KeepsTheDistancesOfRealMachines) {
  const std::string directory = testing_support::testdata("topology");
  if (directory.empty()) GTEST_SKIP() << "no test data: topology";
  std::size_t seen = 0;
  for (const auto* part : {"hwloc", "nccl"})
    for (const auto& entry : std::filesystem::directory_iterator(directory + "/" + part)) {
      Sources sources;
      sources.topology = entry.path();
      const auto machine = read_machine(sources);
      if (!machine || machine->gpus.empty() || machine->nics.empty()) continue;
      expect_same_places(*machine, entry.path().filename());
      ++seen;
    }
  EXPECT_GT(seen, 20U);
}

}  // namespace
}  // namespace pinstep
