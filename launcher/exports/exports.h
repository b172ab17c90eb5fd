// The variables by which a rank's program finds its devices: set only where the user has not set them. Pure.
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

// Under isolation there are own GPUs only.
std::vector<std::pair<std::string, std::string>> exported_variables(const NodeMap& map,
                                                                    std::uint32_t local_rank,
                                                                    const Environment& environment,
                                                                    Visible visible);

}  // namespace pinstep
