// A Machine as NCCL's topology file, for NCCL_TOPO_FILE: where a hypervisor hides the bus, NCCL finds out
// nothing better by itself.
//
// NCCL knows one place between devices at one memory node that share no switch, so NODE becomes PHB; and none
// between memory nodes, so PKG becomes SYS. What is not in the file (classes of links, speeds of cards, NVLink)
// it takes from the devices. The switches have made-up addresses and the speed of PCIe 5, since one that is too
// low would be a bottleneck that is not there.
#pragma once

#include <string>

#include "launcher/machine/machine.h"

namespace pinstep {

std::string write_nccl_topology(const Machine& machine);

}  // namespace pinstep
