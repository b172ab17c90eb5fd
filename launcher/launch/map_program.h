// pinstep-map, the program that finds out what the node has and computes the map: pinstep-launch itself links
// no hwloc (design fact 15).
#pragma once

#include <string>
#include <vector>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"
#include "launcher/mapfile/node_map.h"

namespace pinstep {

// The map as text. Errors: not_found (built without hwloc), those that pinstep-map tells, os (it crashed).
Result<std::string> compute_map(std::vector<std::string> arguments, const Environment& environment);

// Why there is no map, in the place of one; understand_map() gives it back as the error.
std::string failure_text(const Error& error);

// Errors: the one in a failure_text(), unsupported, corrupt.
Result<NodeMap> understand_map(const std::string& text);

}  // namespace pinstep
