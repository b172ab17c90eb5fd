// What doctor has to say about one thing, and the pure functions that find it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "envtools/base/error.h"
#include "envtools/doctor/facts.h"
#include "envtools/doctor/slurm.h"

namespace pinstep::doctor {

enum class Level { ok, warning, error };

std::string_view to_string(Level level);

struct Finding {
  Level level;
  std::string check;  // "plugstack"
  std::string text;
  std::string remedy = {};              // may be empty
  std::vector<std::string> nodes = {};  // empty: where doctor runs

  bool operator==(const Finding&) const = default;
};

// What one machine shows by itself. `with_slurm`: whether plugstack.conf was looked for.
std::vector<Finding> judge(const Facts& facts, bool with_slurm);

// What Slurm's configuration says. `ephemeral`: the ports that the kernel gives to clients here.
std::vector<Finding> judge(const SlurmConfig& config, PortRange ephemeral);

// A node against where doctor runs: nothing of what is the same, all that the node shows by itself.
std::vector<Finding> compare(const Facts& here, const Facts& node);

// One finding for all nodes that have the same.
std::vector<Finding> merge(const std::vector<Finding>& findings);

}  // namespace pinstep::doctor
