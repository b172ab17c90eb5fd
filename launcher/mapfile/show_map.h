// The map of a node for people and for programs.
#pragma once

#include <string>
#include <string_view>

#include "launcher/mapfile/node_map.h"

namespace pinstep {

// A table with a row for each rank, what was left out, the objective, and the scores if the map has any.
std::string show_map(const NodeMap& map);

// What one rank has, in one line without its end.
std::string show_rank(const NodeMap& map, std::uint32_t rank);

// "bandwidth 2.80  levels 12  …": the objective's value.
std::string show_objective(const NodeMap& map);

// One object on one line, with the node's name unless that is empty.
std::string map_json(const NodeMap& map, std::string_view node);

}  // namespace pinstep
