// From a machine and what a step may use of it to the map of the node.
#pragma once

#include <optional>
#include <vector>

#include "launcher/assign/assign.h"
#include "launcher/machine/nic_filter.h"
#include "launcher/mapfile/node_map.h"

namespace pinstep {

struct MapRequest {
  std::uint32_t ranks = 1;
  // The step's GPUs, indices into Machine::gpus; nothing: all.
  std::optional<std::vector<std::size_t>> gpus;
  std::optional<std::vector<std::size_t>> openable;  // GPUs that the ranks can open; nothing: all
  // Under isolation the GPUs that each rank can open; else the map deals them out.
  std::optional<std::vector<std::vector<std::size_t>>> gpus_of_rank;
  // Nothing: all for a single rank, else one.
  std::optional<std::uint32_t> gpus_per_rank;
  bool deals_cores = true;
  std::uint32_t system_cores = 0;  // of those that the step may use, left to the system
  bool scores = false;             // NodeMap::scores
  NicRules nic_rules;
  std::vector<std::uint32_t> device_numbers;  // of Machine::gpus; empty: counted in bus order
};

// Errors: invalid (more than 32 GPUs or 64 cards, GPUs that the ranks cannot have).
Result<NodeMap> make_map(const Machine& machine, const MapRequest& request);

}  // namespace pinstep
