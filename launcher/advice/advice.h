// What people are told about the places of the ranks of a node, and what to do about them. Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "envtools/base/environment.h"
#include "launcher/mapfile/node_map.h"

namespace pinstep {

struct SlurmVersion {
  unsigned year = 0;
  unsigned month = 0;

  // "slurm-wlm 22.05.8", "slurm 23.11.1-2": what srun --version prints.
  static std::optional<SlurmVersion> parse(std::string_view text);
  auto operator<=>(const SlurmVersion&) const = default;
};

// Each rank can open its own GPU only: what that means and what lifts it. `with_plugin`: the plugin has
// prepared the step.
std::string isolation_advice(std::optional<SlurmVersion> slurm, bool with_plugin);

// Ranks that have much fewer cores than their GPUs' part of the node; nothing where they have enough, or are
// not bound. `environment` is a task's.
std::optional<std::string> starvation_advice(const NodeMap& map, const Environment& environment);

}  // namespace pinstep
