// A Machine from hwloc: this node's, or one written to an XML file (lstopo FILE.xml).
#pragma once

#include <optional>
#include <string>

#include "envtools/base/error.h"
#include "launcher/machine/machine.h"

namespace pinstep {

// `file` empty: this node. Of the file Machine::allowed is what it says was allowed where it was written.
// Errors: not_found and others of reading, unsupported (XML of a newer hwloc), corrupt, os.
Result<Machine> read_topology(const std::string& file);

}  // namespace pinstep
