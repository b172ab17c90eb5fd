// One node as the map needs it: cores, memory nodes, GPUs, network cards, and how far these are from each
// other. A plain value: where it was read from (launcher/topology) does not matter here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "launcher/machine/bits.h"

namespace pinstep {

// How far a GPU and a network card are from each other, by their lowest common ancestor, nearest first.
enum class Level {
  pix,   // one PCIe switch, or one bridge
  pxb,   // several PCIe bridges, not the host bridge
  phb,   // the host bridge
  node,  // the memory node
  pkg,   // the package
  sys,   // nothing but the machine
};
inline constexpr int kLevels = 6;

std::string_view to_string(Level level);   // "PIX"
Level parse_level(std::string_view name);  // sys for a name that is none

// Where a PCI device is attached.
struct Locality {
  std::vector<std::uint32_t> bridges;  // from the host bridge down to the device; numbers of this machine
  Bits nodes;                          // memory nodes it is near: one, or all that are equally near
  Bits packages;

  bool operator==(const Locality&) const = default;
};

Level level(const Locality& a, const Locality& b);

struct PciAddress {
  std::uint32_t domain = 0;
  std::uint8_t bus = 0;
  std::uint8_t device = 0;
  std::uint8_t function = 0;

  static std::optional<PciAddress> parse(std::string_view text);
  std::string text() const;  // "0000:03:00.0"
  auto operator<=>(const PciAddress&) const = default;
};

enum class Vendor { nvidia, amd };
std::string_view to_string(Vendor vendor);

struct Gpu {
  PciAddress address;
  Vendor vendor = Vendor::nvidia;
  std::string uuid;  // "GPU-…", empty where it is not known
  Locality at;
  // The memory nodes beside it, where they do not follow from its place on the bus (NVLink-C2C, a VM's hidden
  // bus).
  std::optional<Bits> linked = std::nullopt;
  std::optional<std::uint32_t> number =
      std::nullopt;                         // of its device file, where the driver tells: /dev/nvidia<number>
  std::vector<std::string> instances = {};  // UUIDs of its MIG instances

  const Bits& home() const { return linked ? *linked : at.nodes; }
};

enum class Network { fabric, roce, ethernet };  // fabric: InfiniBand, Omni-Path, Slingshot, EFA
std::string_view to_string(Network network);

enum class Link { up, down, unknown };

struct Nic {
  PciAddress address;
  // Of its verbs device, else of its network interface; empty if it has neither. Each port of a verbs device
  // with several is a card, with ":PORT" behind the name.
  std::string name;
  bool has_verbs = false;  // name is what NCCL_IB_HCA takes
  Network network = Network::ethernet;
  Link link = Link::unknown;
  bool is_virtual_function = false;
  std::optional<PciAddress> physical;  // whose virtual function it is, where that is told
  bool is_processing_unit = false;     // a computer of its own (BlueField), mostly for storage and management
  bool is_on_bus = true;               // false: made by the system, such as a bridge between virtual machines
  std::uint32_t rate = 0;              // of its port, Mb/s; 0: not known
  std::uint32_t bus_rate = 0;          // of its link to the bus, Mb/s, before coding; 0: not known
  Locality at;
};

struct Core {
  Bits pus;  // its hardware threads
  std::uint32_t node = 0;
  std::uint32_t package = 0;
};

struct Machine {
  std::vector<Core> cores;  // ordered by package, memory node and first hardware thread
  std::vector<Gpu> gpus;    // in bus order
  std::vector<Nic> nics;    // in bus order
  Bits allowed;             // hardware threads that may be used
  // Sentences that a map shows as notes: what is good to know; and what its sources do not tell, or tell in two
  // ways.
  std::vector<std::string> notes;
  std::vector<std::string> doubts;
};

// Sorts cores, GPUs and cards: what follows does not depend on the order of discovery.
void put_in_order(Machine& machine);

}  // namespace pinstep
