// A Machine from NCCL's own topology file (NCCL_TOPO_FILE, NCCL_TOPO_DUMP_FILE):
//
//   <system version="1">
//     <cpu numaid="0" affinity="ffff">                    a memory node and its hardware threads
//       <pci busid="ffff:ff:01.0" class="0x060400">       a PCIe switch, however many bridges it is made of
//         <pci busid="0000:10:1c.0" class="0x030200">
//           <gpu dev="0" sm="80"/>                        not in files for virtual machines
//         </pci>
//         <pci busid="0000:10:1b.0" class="0x020700">
//           <nic><net name="mlx5_0" speed="200000" port="1"/></nic>      as well; Mb/s
//
// What it does not tell: which hardware threads share a core, so each counts as one; and packages, so that
// each memory node counts as one, which is how NCCL sees it.
#pragma once

#include <map>
#include <string_view>

#include "envtools/base/error.h"
#include "launcher/machine/machine.h"

namespace pinstep {

struct NcclTopology {
  Machine machine;
  std::map<PciAddress, Locality> places;  // of all PCI devices named, also of those that no class tells apart
};

// Whether the text is meant to be one: its root element is <system>.
bool is_nccl_topology(std::string_view text);

// `name` is the file's, for messages. Errors: corrupt, unsupported (several hosts in one file).
Result<NcclTopology> parse_nccl_topology(std::string_view text, std::string_view name);

}  // namespace pinstep
