// The command line of pinstep-map, which pinstep-launch writes.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "envtools/base/error.h"
#include "launcher/machine/bits.h"
#include "launcher/machine/nic_filter.h"
#include "launcher/topology/topology.h"

namespace pinstep {

struct MapOptions {
  Sources sources;
  std::uint32_t ranks = 1;
  std::optional<std::uint32_t> gpus_per_rank;
  std::optional<Bits> gpus;                         // device numbers
  std::optional<Bits> opens;                        // device numbers that the ranks can open
  std::optional<std::vector<Bits>> rank_gpus;       // device numbers of each rank
  std::optional<std::vector<std::string>> visible;  // CUDA_VISIBLE_DEVICES of each rank, or one for all
  std::string nccl_file;                            // to write; empty: none
  std::optional<Bits> cpus;
  bool deals_cores = true;
  NicRules nic_rules;
  std::vector<std::string> doubts;  // about what the user's own variables say
  bool is_strict = false;           // a doubt is an error
  std::uint32_t system_cores = 0;
  bool scores = false;
  std::optional<std::string> picture;  // its title
};

// Errors: usage.
Result<MapOptions> parse_map_options(const std::vector<std::string>& arguments);

}  // namespace pinstep
