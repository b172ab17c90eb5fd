#include "launcher/worker/device/memory.h"

namespace pinstep::worker {

Result<Memory> Memory::allocate(Device& device, std::size_t count, Type type) {
  auto data = device.allocate(count * size_of(type));
  if (!data) return tl::unexpected(data.error());
  Memory memory;
  memory.device_ = &device;
  memory.array_ = {*data, count, type};
  return memory;
}

}  // namespace pinstep::worker
