#include "launcher/worker/bench/pattern.h"

#include <algorithm>
#include <vector>

#include "launcher/worker/try.h"

namespace pinstep::worker {
namespace {

constexpr std::size_t kPiece = std::size_t{1} << 20;  // elements that pass through host memory at a time

}  // namespace

Result<void> fill(Device& device, Stream stream, Array array, std::uint32_t rank) {
  std::vector<float> host(std::min(kPiece, array.count));
  for (std::size_t first = 0; first < array.count; first += kPiece) {
    const Array part = array.part(first, std::min(kPiece, array.count - first));
    for (std::size_t i = 0; i < part.count; ++i) host[i] = given(rank, first + i);
    PINSTEP_TRY(device.copy(stream, part.data, host.data(), part.bytes(), Direction::to_device));
    PINSTEP_TRY(device.synchronize(stream));
  }
  return {};
}

Result<std::uint64_t> count_wrong(Device& device, Stream stream, Array array,
                                  float (*expected)(std::uint32_t, std::size_t), std::uint32_t argument) {
  std::vector<float> host(std::min(kPiece, array.count));
  std::uint64_t wrong = 0;
  for (std::size_t first = 0; first < array.count; first += kPiece) {
    const Array part = array.part(first, std::min(kPiece, array.count - first));
    PINSTEP_TRY(device.copy(stream, host.data(), part.data, part.bytes(), Direction::to_host));
    PINSTEP_TRY(device.synchronize(stream));
    for (std::size_t i = 0; i < part.count; ++i) wrong += host[i] == expected(argument, first + i) ? 0 : 1;
  }
  return wrong;
}

}  // namespace pinstep::worker
