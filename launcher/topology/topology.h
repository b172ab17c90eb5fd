// What a node has, from whatever tells it.
#pragma once

#include <string>

#include "envtools/base/error.h"
#include "launcher/machine/machine.h"

namespace pinstep {

// `source` is empty for this node, "synthetic:DESCRIPTION" (hwloc's), or a file: hwloc's XML or NCCL's, told
// apart by their content.
// Errors: those of read_file() and of the readers.
Result<Machine> read_machine(const std::string& source);

}  // namespace pinstep
