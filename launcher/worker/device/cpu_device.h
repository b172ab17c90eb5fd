// The CPU as a device: memory is the process's, streams and events complete at once, matrix products are
// OpenBLAS's and convolutions oneDNN's, all in the calling thread and those that the libraries start.
#pragma once

#include <atomic>

#include "launcher/worker/device/cpu_convolution.h"
#include "launcher/worker/device/device.h"

namespace pinstep::worker {

class CpuDevice final : public Device {
 public:
  // For matrix products, of the whole process, and for convolutions, of the calling thread; 0 leaves it to the
  // libraries.
  void use_threads(unsigned threads);

  std::string_view name() const override { return "cpu"; }
  Result<void*> allocate(std::size_t bytes) override;
  void release(void* memory) noexcept override;
  Result<void> copy(Stream stream, void* to, const void* from, std::size_t bytes, Direction) override;
  Result<void> zero(Stream stream, Array array) override;
  Result<Stream> create_stream() override { return Stream{++last_handle_}; }
  void destroy(Stream) noexcept override {}
  Result<void> synchronize(Stream) override { return {}; }
  Result<Event> create_event() override { return Event{++last_handle_}; }
  void destroy(Event) noexcept override {}
  Result<void> record(Event, Stream) override { return {}; }
  Result<void> wait(Stream, Event) override { return {}; }
  Result<void> synchronize(Event) override { return {}; }
  Result<bool> has_happened(Event) override { return true; }
  Result<void> launch(Stream stream, std::string_view kernel, std::size_t items,
                      std::span<const Argument> arguments) override;
  Result<void> gemm(Stream stream, const Gemm& product) override;
  Result<void> last_error() override { return {}; }

 private:
  std::atomic<std::uint64_t> last_handle_ = 0;
  CpuConvolutions convolutions_;
};

}  // namespace pinstep::worker
