// `pinstep-launch verify`: the program that a rank becomes instead of the user's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "launcher/mapfile/node_map.h"

namespace pinstep {

// The same for maps that differ in nothing but the GPUs' UUIDs: 8 hex digits.
std::string map_hash(NodeMap map);

// `program` as LaunchOptions has it: pinstep-verify, what the map says of this node and rank, and what the user
// has said. Without a map nothing is said of it.
std::vector<std::string> verify_command(const std::vector<std::string>& program,
                                        const std::optional<NodeMap>& map, std::uint32_t local_rank);

}  // namespace pinstep
