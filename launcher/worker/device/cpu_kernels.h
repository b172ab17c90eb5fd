// The CPU's kernels (device/kernels.h) but for the convolutions, found by name.
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

// Channels that the CPU keeps beside each other in the inner order of images: what its vectors hold, or 1
// where the channels are no multiple of that.
std::size_t cpu_lanes(std::size_t channels);

}  // namespace pinstep::worker
