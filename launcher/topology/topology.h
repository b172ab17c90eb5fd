// What a node has, from whatever tells it.
#pragma once

#include <optional>
#include <string>

#include "envtools/base/error.h"
#include "launcher/machine/machine.h"
#include "launcher/topology/nvml.h"

namespace pinstep {

struct Sources {
  // Empty for this node; "synthetic:DESCRIPTION", hwloc's; or a file: hwloc's XML or NCCL's, told apart by
  // their content.
  std::string topology;
  // A file of NCCL's that tells the places of devices better than `topology`: this one, else the user's
  // NCCL_TOPO_FILE, else the one that NCCL itself reads. The last two are for this node only.
  std::string nccl;
  std::string users_nccl;
  std::string hypervisors_nccl = "/var/run/nvidia-topologyd/virtualTopology.xml";
  std::string proc = "/proc";
  std::optional<std::string> nvml;  // nothing: for this node NVIDIA's, else none
};

// Errors: those of read_file() and of the readers. What is wrong in files that the user did not name, or with a
// driver, is a doubt.
Result<Machine> read_machine(const Sources& sources);

}  // namespace pinstep
