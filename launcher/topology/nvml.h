// What NVIDIA's management library knows of the GPUs that this process can reach. The library comes with the
// driver: it is looked for when the program runs, and not needed to build it.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "envtools/base/error.h"
#include "launcher/machine/machine.h"

namespace pinstep {

struct NvmlGpu {
  PciAddress address;
  std::string uuid;                     // "GPU-…"
  std::optional<std::uint32_t> number;  // of /dev/nvidia<number>
  std::vector<std::string> instances;   // UUIDs of its MIG instances, "MIG-…"
  bool is_divided = false;              // into MIG instances, possibly none yet
  Bits memory_nodes;                    // beside it; empty where NVML does not tell
  bool has_c2c = false;                 // its memory hangs at the processor's by NVLink-C2C
};

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

// GPUs that may not be reached are left out. Errors: not_found (no library, or no driver below it), os (NVML's
// words; also for a GPU that it has lost).
Result<std::vector<NvmlGpu>> read_nvml(const std::string& library);

// Puts it into a machine that was read from the bus: UUIDs, device numbers and MIG instances; a GPU that is not
// on this bus is added, without a place; where both tell memory nodes and differ the bus is right, but for a
// GPU with NVLink-C2C. Differences become doubts.
void add_nvml(const std::vector<NvmlGpu>& known, Machine& machine);

}  // namespace pinstep
