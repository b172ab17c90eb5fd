#include "launcher/topology/nccl_topology.h"

#include "tests/unit/support/results.h"
#include "tests/unit/support/testdata.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

// A switch with a GPU and a card; behind it another switch with the same; a card at the root; another node.
constexpr std::string_view kTwoNodes = R"(<!-- <topology> -->
<system version="1">
  <cpu numaid="0" affinity="00000000,0000000f">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="16 GT/s" link_width="16">
      <pci busid="0000:10:00.0" class="0x030200" vendor="0x10de"><gpu dev="0" sm="80" rank="0" gdr="1"/></pci>
      <pci busid="0000:11:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16">
        <nic><net name="mlx5_0" dev="0" speed="200000" port="1"/></nic>
      </pci>
      <pci busid="ffff:ff:02.0" class="0x060400">
        <pci busid="0000:20:00.0" class="0x030200" vendor="0x10de"/>
        <pci busid="0000:21:00.0" class="0x020700"/>
      </pci>
    </pci>
    <pci busid="0000:30:00.0" class="0x020000">
      <nic>
        <net name="mlx5_2" speed="100000" port="1"/>
        <net name="mlx5_2" speed="100000" port="2"/>
      </nic>
    </pci>
    <nic><net name="virbr0" speed="10000" port="0"/></nic>
  </cpu>
  <cpu numaid="4" affinity="00000000,000000f0">
    <pci busid="0000:80:00.0" class="0x120000" vendor="0x1002"/>
    <pci busid="0000:81:00.0" class="0x020000"><nic><net name="eth0" speed="10000" port="0"/></nic></pci>
  </cpu>
</system>)";

NcclTopology parsed(std::string_view text) {
  auto found = parse_nccl_topology(text, "x.xml");
  EXPECT_TRUE(found) << (found ? "" : found.error().cause);
  return found ? std::move(*found) : NcclTopology();
}

template <class Device>
const Device& at(const std::vector<Device>& devices, std::string_view address) {
  const auto found = std::find_if(devices.begin(), devices.end(),
                                  [&](const Device& device) { return device.address.text() == address; });
  EXPECT_NE(found, devices.end()) << address;
  return *found;
}

TEST(NcclTopology, TellsHowFarGpusAndCardsAreFromEachOther) {
  const Machine machine = parsed(kTwoNodes).machine;
  ASSERT_EQ(machine.gpus.size(), 3U);
  const struct {
    const char* gpu;
    const char* nic;
    Level level;
  } cases[] = {
      {"0000:10:00.0", "0000:11:00.0", Level::pix}, {"0000:20:00.0", "0000:21:00.0", Level::pix},
      {"0000:10:00.0", "0000:21:00.0", Level::pxb}, {"0000:20:00.0", "0000:11:00.0", Level::pxb},
      {"0000:10:00.0", "0000:30:00.0", Level::phb}, {"0000:80:00.0", "0000:81:00.0", Level::phb},
      {"0000:10:00.0", "0000:81:00.0", Level::sys}, {"0000:80:00.0", "0000:11:00.0", Level::sys},
  };
  for (const auto& [gpu, nic, expected] : cases)
    EXPECT_EQ(level(at(machine.gpus, gpu).at, at(machine.nics, nic).at), expected) << gpu << " " << nic;
}

TEST(NcclTopology, TellsWhatDevicesAre) {
  const Machine machine = parsed(kTwoNodes).machine;
  EXPECT_EQ(machine.gpus[0].vendor, Vendor::nvidia);
  EXPECT_EQ(machine.gpus[2].vendor, Vendor::amd);
  EXPECT_EQ(machine.gpus[2].home(), Bits{4});
  std::vector<std::string> nics;
  for (const Nic& nic : machine.nics)
    nics.push_back(nic.name + " " + std::string(to_string(nic.network)) + " " + std::to_string(nic.rate) + " " +
                   std::to_string(nic.bus_rate) + (nic.has_verbs ? " verbs" : "") +
                   (nic.is_on_bus ? "" : " off"));
  EXPECT_THAT(nics, ElementsAre("virbr0 ethernet 10000 0 off", "mlx5_0 fabric 200000 256000 verbs",
                                "0000:21:00.0 fabric 0 0", "mlx5_2:1 roce 100000 0 verbs",
                                "mlx5_2:2 roce 100000 0 verbs", "eth0 ethernet 10000 0"));
}

TEST(NcclTopology, TellsProcessors) {
  const Machine machine = parsed(kTwoNodes).machine;
  EXPECT_EQ(machine.allowed.text(), "0-7");
  ASSERT_EQ(machine.cores.size(), 8U);
  EXPECT_EQ(machine.cores[3].node, 0U);
  EXPECT_EQ(machine.cores[4].node, 4U);
  EXPECT_THAT(machine.doubts, IsEmpty());
}

TEST(NcclTopology, KnowsItsFilesByTheRoot) {
  for (const auto* text : {"<system>", "<system version='1'>", "<?xml version='1.0'?>\n<!-- <a> -->\n<system/>",
                           "<!DOCTYPE system>\n<system\n"})
    EXPECT_TRUE(is_nccl_topology(text)) << text;
  for (const auto* text : {"", "system", "<systems>", "<topology>", "<!-- <system> -->", "<!-- ", "<?xml",
                           "<a><system>", "<system"})
    EXPECT_FALSE(is_nccl_topology(text)) << text;
}

TEST(NcclTopology, SaysWhatItCannotTell) {
  const NcclTopology told =
      parsed(R"(<system><cpu><pci busid="0:1:0.0"/><pci busid="0:2:0.0"/></cpu></system>)");
  EXPECT_THAT(told.machine.doubts,
              ElementsAre("'x.xml' does not tell what 2 devices are", "'x.xml' names no processors"));
  EXPECT_EQ(told.places.size(), 2U);
}

TEST(NcclTopology, RefusesWhatIsWrong) {
  std::string deep = "<system><cpu>";
  for (int i = 0; i < 300; ++i) deep += "<pci busid=\"0:0:0.0\">";
  for (int i = 0; i < 300; ++i) deep += "</pci>";
  const struct {
    std::string text;
    ErrorKind kind;
    const char* cause;
  } cases[] = {
      {"<system>\n<cpu", ErrorKind::corrupt, "'x.xml', line 2: "},
      {"<!DOCTYPE x [<!ENTITY a 'b'>]><system/>", ErrorKind::corrupt, "'x.xml' declares entities"},
      {"<system/>", ErrorKind::corrupt, "'x.xml' has no <cpu>"},
      {"<system><cpu numaid='x'/></system>", ErrorKind::corrupt, "has a wrong numaid, 'x'"},
      {"<system><cpu numaid='99999999'/></system>", ErrorKind::corrupt, "has a wrong numaid, '99999999'"},
      {"<system><cpu affinity='0xz'/></system>", ErrorKind::corrupt, "has a wrong affinity, '0xz'"},
      {"<system><cpu><pci busid='1'/></cpu></system>", ErrorKind::corrupt, "has a wrong busid, '1'"},
      {"<system><cpu><pci busid='0:1:0.0'/><pci busid='1:0.0'/></cpu></system>", ErrorKind::corrupt,
       "has two devices at '0000:01:00.0'"},
      {"<system><cpu host_hash='0x1'/><cpu host_hash='0x2'/></system>", ErrorKind::unsupported,
       "describes several hosts"},
      {deep + "</cpu></system>", ErrorKind::corrupt, "has elements too deep in each other"},
  };
  for (const auto& [text, kind, cause] : cases) {
    const auto found = parse_nccl_topology(text, "x.xml");
    ASSERT_FALSE(found) << text;
    EXPECT_EQ(found.error().kind, kind) << text;
    EXPECT_THAT(found.error().cause, HasSubstr(cause));
  }
}

TEST(NcclTopology, ReadsAFileCutAnywhereOrRefusesIt) {
  for (std::size_t length = 0; length < kTwoNodes.size(); length += 7) {
    const auto found = parse_nccl_topology(kTwoNodes.substr(0, length), "x.xml");
    ASSERT_FALSE(found) << length;
    EXPECT_EQ(found.error().kind, ErrorKind::corrupt);
  }
}

}  // namespace
}  // namespace pinstep
