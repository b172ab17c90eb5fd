// A Machine from hwloc: this node's, one written to an XML file (lstopo FILE.xml), or one described in a line.
#pragma once

#include <string>
#include <string_view>

#include "envtools/base/error.h"
#include "launcher/machine/machine.h"

namespace pinstep {

// Errors: os.
Result<Machine> read_this_node();

// Versions 1 to 3. Machine::allowed is what was allowed where the file was written. `name` is the file's, for
// messages. Errors: unsupported (XML of a newer hwloc), corrupt.
Result<Machine> parse_hwloc_xml(std::string_view text, const std::string& name);

// "package:2 numa:2 core:8 pu:2": hwloc's own syntax. Such a machine has processors and memory nodes only.
// Errors: invalid.
Result<Machine> parse_synthetic(const std::string& description);

}  // namespace pinstep
