// A node and its map as a picture: SVG 1.1 without scripts, style sheets or anything to fetch.
//
// Packages hold memory nodes, these hold cores and what hangs on their PCI buses. What a rank has is in the
// rank's colour and has its number; the colours are Paul Tol's "light" scheme, made for black text on them and
// for colour-blind readers. Nine ranks and more share colours, not numbers.
#pragma once

#include <string>
#include <string_view>

#include "launcher/machine/machine.h"
#include "launcher/mapfile/node_map.h"

namespace pinstep {

// The map must be one of this machine; what it names and the machine lacks is left out.
std::string draw_node(const Machine& machine, const NodeMap& map, std::string_view title);

}  // namespace pinstep
