// The variables by which a rank's program finds its devices and the network: set only where the user has not
// set them. Pure.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "envtools/base/environment.h"
#include "launcher/mapfile/node_map.h"

namespace pinstep {

enum class Visible {
  all,  // the same list for all ranks of the node; entry i is the GPU of local rank i
  own,  // the rank's own GPUs
};

enum class Program {
  rank,         // one rank: threads and cards are its own
  starts_them,  // torchrun, mpirun and the like: they, or pinstep-launch --child, decide for each rank
};

struct ExportRequest {
  Visible visible = Visible::all;  // under isolation there are own GPUs only
  Program program = Program::rank;
  std::string interface;  // by which this node reaches the master node; empty: not known
  std::string nccl_file;  // NCCL's topology of the node; empty: NCCL is to find out
};

// Without those that the user has set in `environment`; what Slurm has set of devices is replaced.
std::vector<std::pair<std::string, std::string>> exported_variables(const NodeMap& map,
                                                                    std::uint32_t local_rank,
                                                                    const Environment& environment,
                                                                    const ExportRequest& request);

}  // namespace pinstep
