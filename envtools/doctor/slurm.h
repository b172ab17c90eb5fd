// What Slurm says about itself, by its own commands, each with a time limit.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"
#include "envtools/doctor/facts.h"

namespace pinstep::doctor {

using SlurmConfig = std::map<std::string, std::string, std::less<>>;

// The text of `scontrol show config`; "(null)" becomes empty.
SlurmConfig parse_config(std::string_view text);

// Errors: those of running it; os, with Slurm's own words.
Result<SlurmConfig> slurm_config(const Environment& environment);

// Ids of the jobs that are not over, or were over a short while ago, as far as this user may see them; of an array its
// first id. Errors: as slurm_config().
Result<std::set<std::uint32_t>> listed_jobs(const Environment& environment);

// The plugstack.conf of this host: the one that is configured, or, where slurmd or sackd got it from the
// controller, that. Empty where there is none.
std::string plugstack_of(const SlurmConfig& config);

struct PortRange {
  std::uint32_t first = 0, last = 0;  // 0: none

  bool operator==(const PortRange&) const = default;
};
// "ports=20000-20999" anywhere in MpiParams.
PortRange reserved_ports(std::string_view mpi_params);
// net.ipv4.ip_local_port_range.
PortRange ephemeral_ports();

struct NodesAnswer {
  std::vector<Facts> facts;         // of those that answered
  std::vector<std::string> silent;  // nodes
  std::string said;                 // by srun, where nodes are silent
};
// One step with one task on each of the nodes. `probe`: program and arguments that print facts. Errors: as
// slurm_config(), where not even the list could be read.
Result<NodesAnswer> ask_nodes(const Environment& environment, const std::string& nodes,
                              const std::vector<std::string>& probe);

}  // namespace pinstep::doctor
