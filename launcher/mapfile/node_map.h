// The map of a node: which GPU, network card, cores and memory node each rank has. Every rank of the node
// reads or computes the same one.
//
// As a file it is text, a line for each thing, words split by single blanks:
//
//   pinstep-map 1
//   bandwidth 14/5
//   levels 12               sum of the levels' costs
//   off 0                   ranks off their GPU's memory node
//   cores 40 0              cores dealt; most of a rank less fewest
//   rails 2
//   proven 1
//   isolated 0
//   node 64 4 2             cores, GPUs, hardware threads of a core: all that the node has
//   gpu 0004:04:00.0 nvidia 0 GPU-… 0 mlx5_0 NODE     address, vendor, device number, uuid, memory nodes, card,
//   level nic mlx5_0 fabric 1                                name, network, whether NCCL_IB_HCA takes it
//   dropped eno1 link%20down
//   note …                                             for --print-map
//   score block 14/5 12 0,0,0,4,0,0 4 -                a rule, and what it would come to: bandwidth, sum of the
//                                                      levels' costs, GPUs at each level, cards, ranks off
//   rank 0 2 8-47 10 0                                 gpus (numbers of lines), cores, number of cores, memory
//   node end
//
// "-" is what is not there; names and texts are percent-escaped.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"
#include "launcher/machine/machine.h"
#include "launcher/machine/nic_filter.h"

namespace pinstep {

struct MappedGpu {
  PciAddress address;
  Vendor vendor = Vendor::nvidia;
  std::uint32_t number = 0;  // of its device file: /dev/nvidia0
  std::uint32_t index = 0;   // in bus order among the GPUs that can be opened, as CUDA counts
  std::string uuid;
  Bits nodes;
  std::string nic;  // the card it uses; empty for none
  Level level = Level::sys;

  bool operator==(const MappedGpu&) const = default;
};

struct MappedNic {
  std::string name;
  Network network = Network::ethernet;
  bool has_verbs = false;

  bool operator==(const MappedNic&) const = default;
};

struct MappedRank {
  std::vector<std::uint32_t> gpus;  // indices into NodeMap::gpus
  Bits pus;                         // hardware threads; empty: not bound
  std::uint32_t cores = 0;
  std::optional<std::uint32_t> memory_node;

  bool operator==(const MappedRank&) const = default;
};

// What a choice of cards is worth, in the terms of the objective.
struct CardScore {
  std::int64_t bandwidth = 0;
  std::int64_t bandwidth_unit = 1;
  std::uint32_t level_cost = 0;
  std::array<std::uint32_t, kLevels> gpus_at{};  // how many GPUs are so far from their cards
  std::uint32_t cards = 0;                       // in use

  bool operator==(const CardScore&) const = default;
};

struct RuleScore {
  std::string rule;                  // "pinstep" for this map, else one of launcher/assign/rules.h
  std::optional<CardScore> cards;    // where the rule chooses cards
  std::optional<std::uint32_t> off;  // where it chooses cores: ranks off their GPUs' memory nodes

  bool operator==(const RuleScore&) const = default;
};

struct NodeMap {
  std::vector<MappedGpu> gpus;  // those of the step, in bus order
  std::vector<MappedNic> nics;  // those in use by the filter, in bus order
  std::vector<DroppedNic> dropped;
  std::vector<std::string> notes;
  std::vector<MappedRank> ranks;
  bool isolated = false;  // each rank can open its own GPUs only
  // Of all the node, whatever the step may use of it.
  std::uint32_t node_cores = 0;
  std::uint32_t node_gpus = 0;
  std::uint32_t threads_per_core = 1;

  // The objective's value, in its order.
  std::int64_t bandwidth = 0;
  std::int64_t bandwidth_unit = 1;
  std::uint32_t level_cost = 0;
  std::uint32_t off = 0;
  std::uint32_t cores = 0;
  std::uint32_t spread = 0;
  std::uint32_t rail_mismatch = 0;
  bool is_proven = true;
  std::vector<RuleScore> scores;  // this map's and that of other rules, where that was asked for

  bool operator==(const NodeMap&) const = default;
};

std::string write_map(const NodeMap& map);

// Errors: unsupported (a newer version), corrupt.
Result<NodeMap> parse_map(std::string_view text);

}  // namespace pinstep
