// Device memory with an owner.
#pragma once

#include <utility>

#include "launcher/worker/device/device.h"

namespace pinstep::worker {

// An array that is released with this object; the device must live longer.
class Memory {
 public:
  Memory() = default;
  Memory(Memory&& other) noexcept
      : device_(std::exchange(other.device_, nullptr)), array_(std::exchange(other.array_, {})) {}
  Memory& operator=(Memory&& other) noexcept {
    std::swap(device_, other.device_);
    std::swap(array_, other.array_);
    return *this;
  }
  ~Memory() {
    if (device_ != nullptr) device_->release(array_.data);
  }

  static Result<Memory> allocate(Device& device, std::size_t count, Type type);

  const Array& array() const { return array_; }

 private:
  Device* device_ = nullptr;
  Array array_;
};

}  // namespace pinstep::worker
