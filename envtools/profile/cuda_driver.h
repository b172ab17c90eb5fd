// What NVIDIA's driver on this machine can do. Its libraries come with the driver: they are looked for when the
// program runs, and not needed to build it.
#pragma once

#include <string>

#include "envtools/base/error.h"

namespace pinstep {

struct CudaDriver {
  std::string cuda;        // the newest CUDA that it can run: "12.4"
  std::string capability;  // the lowest compute capability of its GPUs, "9.0"; empty where it does not tell

  bool operator==(const CudaDriver&) const = default;
};

inline constexpr const char* kManagementLibrary = "libnvidia-ml.so.1";

// Asks NVML. Errors: not_found (no library, or no driver below it), os (NVML's words).
Result<CudaDriver> read_cuda_driver(const std::string& library);

}  // namespace pinstep
