// What the ranks exchange when results are checked: whole numbers so small that sums of many ranks are exact.
#pragma once

#include <cstdint>

#include "launcher/worker/device/device.h"

namespace pinstep::worker {

// Element i of what this rank gives.
constexpr float given(std::uint32_t rank, std::size_t i) { return static_cast<float>(i % 1021 + rank % 64); }

// Element i of the sum over so many ranks.
constexpr float given_by_all(std::uint32_t ranks, std::size_t i) {
  // Whole rounds of 0 … 63, and what is left of one.
  const std::uint32_t rest = ranks % 64;
  const std::uint32_t offsets = ranks / 64 * (63 * 64 / 2) + rest * (rest - (rest > 0 ? 1 : 0)) / 2;
  return static_cast<float>(ranks) * static_cast<float>(i % 1021) + static_cast<float>(offsets);
}

// The array (f32) filled with given(rank, …), done when it returns. Errors: those of the device.
Result<void> fill(Device& device, Stream stream, Array array, std::uint32_t rank);

// How many elements are not what `expected(i)` says.
Result<std::uint64_t> count_wrong(Device& device, Stream stream, Array array,
                                  float (*expected)(std::uint32_t, std::size_t), std::uint32_t argument);

}  // namespace pinstep::worker
