// The CPU's kernels (device/kernels.h), found by name.
#pragma once

#include <span>
#include <string_view>

#include "launcher/worker/device/device.h"

namespace pinstep::worker {

struct CpuKernel {
  std::string_view name;
  // False, and nothing done, where the arguments do not fit.
  bool (*run)(std::size_t items, std::span<const Argument> arguments);
};

const CpuKernel* find_cpu_kernel(std::string_view name);

}  // namespace pinstep::worker
