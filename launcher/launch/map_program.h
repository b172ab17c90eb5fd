// pinstep-map, the program that finds out what the node has and computes the map: pinstep-launch itself links
// no hwloc (design fact 15).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"
#include "launcher/mapfile/node_map.h"

namespace pinstep {

// So long it may take: a sick driver can hold up whoever asks it, and the step waits.
inline constexpr unsigned kMapSeconds = 20;

// What it prints: the map as text, or a picture of the map that is its input. Errors: not_found (built without
// hwloc), those that pinstep-map tells, timed_out, os (it crashed).
Result<std::string> run_map_program(std::vector<std::string> arguments, const Environment& environment,
                                    std::optional<std::string> input = {});

// Why there is no map, in the place of one; understand_map() gives it back as the error.
std::string failure_text(const Error& error);

// Errors: the one in a failure_text(), unsupported, corrupt.
Result<NodeMap> understand_map(const std::string& text);

}  // namespace pinstep
