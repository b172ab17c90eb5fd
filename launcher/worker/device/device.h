// What computes: memory, copies, streams, events, kernels by name, matrix products. No collectives, those
// are Transport's (transport/transport.h).
//
// Work is given to a stream and done in the order it was given; streams run side by side unless an event
// orders them. A call may return before its work is done and memory must live until then. A device that has
// nothing to run side by side (the CPU) has done the work when the call returns.
//
// Each kernel argument says whether it is read or written, so that a device can check what nothing orders.
// One thread at a time may use a stream; different threads may use different streams.
//
// Errors: invalid (unknown kernel, arguments that do not fit), no_space (device memory), os. A failure of
// work that a call has only begun is returned by last_error() and by every synchronize() from then on.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "envtools/base/error.h"

namespace pinstep::worker {

enum class Type : std::uint8_t { f32, f64, bf16, i32, i64, u8 };

constexpr std::size_t size_of(Type type) {
  switch (type) {
    case Type::f64:
    case Type::i64:
      return 8;
    case Type::f32:
    case Type::i32:
      return 4;
    case Type::bf16:
      return 2;
    case Type::u8:
      return 1;
  }
  return 0;
}

// Elements in a device's memory, not owned.
struct Array {
  void* data = nullptr;
  std::size_t count = 0;
  Type type = Type::f32;

  std::size_t bytes() const { return count * size_of(type); }
  Array part(std::size_t first, std::size_t length) const {
    return {static_cast<std::byte*>(data) + first * size_of(type), length, type};
  }
};

// Handles; what is behind them is the device's. Stream 0 is always there.
struct Stream {
  std::uint64_t handle = 0;
};
struct Event {
  std::uint64_t handle = 0;
};

struct Read {
  Array array;
};
struct Write {
  Array array;
};
struct Update {  // read and written
  Array array;
};
using Argument = std::variant<Read, Write, Update, std::uint32_t, float>;

// C = alpha · op(A) · op(B) + beta · C, row-major, op(A) m×k, op(B) k×n; ld: elements from row to row.
struct Gemm {
  enum class Op { plain, transposed };

  Op op_a = Op::plain;
  Op op_b = Op::plain;
  std::size_t m = 0, n = 0, k = 0;
  float alpha = 1, beta = 0;
  Array a, b, c;
  std::size_t lda = 0, ldb = 0, ldc = 0;
};

enum class Direction { to_device, to_host, on_device };

class Device {
 public:
  virtual ~Device() = default;

  virtual std::string_view name() const = 0;  // "cpu"

  // Aligned for every type and kernel; the content is undefined. release(nullptr) is allowed.
  virtual Result<void*> allocate(std::size_t bytes) = 0;
  virtual void release(void* memory) noexcept = 0;
  // Host memory of a copy must not be changed until the stream got there.
  virtual Result<void> copy(Stream stream, void* to, const void* from, std::size_t bytes, Direction) = 0;
  virtual Result<void> zero(Stream stream, Array array) = 0;

  virtual Result<Stream> create_stream() = 0;
  virtual void destroy(Stream stream) noexcept = 0;
  virtual Result<void> synchronize(Stream stream) = 0;  // waits until all given to it so far is done

  virtual Result<Event> create_event() = 0;
  virtual void destroy(Event event) noexcept = 0;
  virtual Result<void> record(Event event, Stream stream) = 0;  // happens when the stream gets there
  virtual Result<void> wait(Stream stream, Event event) = 0;    // the stream's further work waits for it
  virtual Result<void> synchronize(Event event) = 0;            // this thread waits for it
  virtual Result<bool> has_happened(Event event) = 0;

  // `items` is the number of independent pieces of work, what one is says each kernel (device/kernels.h).
  virtual Result<void> launch(Stream stream, std::string_view kernel, std::size_t items,
                              std::span<const Argument> arguments) = 0;
  virtual Result<void> gemm(Stream stream, const Gemm& product) = 0;

  virtual Result<void> last_error() = 0;
};

}  // namespace pinstep::worker
