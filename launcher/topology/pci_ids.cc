#include "launcher/topology/pci_ids.h"

#include <algorithm>
#include <array>

namespace pinstep {
namespace {

constexpr std::uint16_t kIntel = 0x8086;
constexpr std::uint16_t kMellanox = 0x15b3;
constexpr std::uint16_t kAmazon = 0x1d0f;
constexpr std::uint16_t kCisco = 0x1137;
constexpr std::uint16_t kCray = 0x17db;

constexpr std::array<std::uint16_t, 9> kMellanoxFunctions{0x1004, 0x1012, 0x1014, 0x1016, 0x1018,
                                                          0x101a, 0x101c, 0x101e, 0xa2d3};
constexpr std::array<std::uint16_t, 2> kCiscoFunctions{0x0071, 0x00cf};
constexpr std::array<std::uint16_t, 5> kIntelFunctions{0x10ed, 0x1515, 0x1520, 0x154c, 0x1889};

bool has(const auto& list, std::uint16_t device) {
  return std::find(list.begin(), list.end(), device) != list.end();
}

}  // namespace

Network PciIds::network(bool has_verbs) const {
  const bool is_infiniband = type == 0x0207 || type == 0x0208;
  const bool is_slingshot = vendor == kCray;
  const bool is_efa = vendor == kAmazon && (device & 0xfff0) == 0xefa0;
  if (is_infiniband || is_slingshot || is_efa) return Network::fabric;
  return has_verbs ? Network::roce : Network::ethernet;
}

bool PciIds::is_virtual_function() const {
  if (vendor == kMellanox) return has(kMellanoxFunctions, device);
  if (vendor == kIntel) return has(kIntelFunctions, device);
  if (vendor == kCisco) return has(kCiscoFunctions, device);
  return false;
}

// The network side of each generation of BlueField.
bool PciIds::is_processing_unit() const { return vendor == kMellanox && device >> 8 == 0xa2; }

}  // namespace pinstep
