// The CPU's convolutions (device/kernels.h), which are oneDNN's. Where pinstep-worker is built without oneDNN
// there are none.
//
// oneDNN's primitives are made once for each shape and kept, with the memory they need, per stream: two
// streams may run side by side.
#pragma once

#include <memory>
#include <span>
#include <string_view>

#include "launcher/worker/device/device.h"

namespace pinstep::worker {

class CpuConvolutions {
 public:
  CpuConvolutions();
  ~CpuConvolutions();

  static bool are_there();
  // Of this process's calling thread; 0 leaves it to oneDNN.
  static void use_threads(unsigned threads);
  static bool has(std::string_view kernel);

  // Errors: invalid, not_supported (there are none), no_space, os.
  Result<void> launch(Stream stream, std::string_view kernel, std::size_t items,
                      std::span<const Argument> arguments);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace pinstep::worker
