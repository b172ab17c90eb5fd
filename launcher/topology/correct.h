// What a hypervisor hides of the bus, from a file of NCCL's that tells it.
#pragma once

#include <string>

#include "launcher/machine/machine.h"
#include "launcher/topology/nccl_topology.h"

namespace pinstep {

// GPUs and cards that `told` names get the places it has for them, the GPUs the memory nodes whose processors
// are beside them there. The rest of `machine` stays: cores, memory nodes, what devices are. A file that names
// none of its devices is a doubt. `name` is the file's.
void correct_places(const NcclTopology& told, const std::string& name, Machine& machine);

}  // namespace pinstep
