// The picture of a node and its map, in the file that the options name.
#pragma once

#include <optional>
#include <string_view>

#include "envtools/base/environment.h"
#include "launcher/launch/options.h"
#include "launcher/mapfile/node_map.h"

namespace pinstep {

// `cpus`: what the step may use; nothing: all that are allowed. `node` is this node's name.
// Errors: those of pinstep-map, and of writing a file.
Result<void> draw_map(const LaunchOptions& options, const NodeMap& map, const std::optional<Bits>& cpus,
                      std::string_view node, const Environment& environment);

// Whether each node of a step has a file of its own: %N in the name, as in Slurm's own.
bool has_picture_each(const LaunchOptions& options);

}  // namespace pinstep
