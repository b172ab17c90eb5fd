// Ranks as threads: each runs the same function with its own transport.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include "launcher/worker/device/cpu_device.h"
#include "launcher/worker/transport/gloo.h"
#include "launcher/worker/transport/threads.h"
#include "tests/unit/support/results.h"

namespace pinstep::testing_support {

enum class Kind { threads, gloo };

inline void PrintTo(Kind kind, std::ostream* out) { *out << (kind == Kind::threads ? "threads" : "gloo"); }

inline constexpr worker::Milliseconds kDeadline{20'000};  // of operations that must not fail

using RankFunction = std::function<void(worker::Device& device, worker::Transport& transport)>;

// Calls the function in `size` threads and waits for all of them.
inline void run_ranks(Kind kind, std::uint32_t size, const RankFunction& function,
                      worker::Milliseconds deadline = kDeadline) {
  auto group = std::make_shared<worker::ThreadGroup>(size, deadline);
  worker::MemoryStore store;
  std::vector<std::thread> threads;
  for (std::uint32_t rank = 0; rank < size; ++rank)
    threads.emplace_back([&, rank] {
      worker::CpuDevice device;
      device.use_threads(1);
      if (kind == Kind::threads) {
        worker::ThreadTransport transport(group, rank, device);
        return function(device, transport);
      }
      auto transport =
          worker::GlooTransport::create({rank, size, "127.0.0.1", "", kDeadline, deadline}, device);
      ASSERT_THAT(transport, Succeeds());
      ASSERT_THAT((*transport)->connect(store), Succeeds());
      function(device, **transport);
    });
  for (std::thread& thread : threads) thread.join();
}

// A vector as an array of the CPU's memory.
template <class T>
worker::Array array(std::vector<T>& values) {
  using worker::Type;
  constexpr Type type = std::is_same_v<T, float>          ? Type::f32
                        : std::is_same_v<T, double>       ? Type::f64
                        : std::is_same_v<T, std::int32_t> ? Type::i32
                        : std::is_same_v<T, std::int64_t> ? Type::i64
                                                          : Type::u8;
  return {values.data(), values.size(), type};
}

}  // namespace pinstep::testing_support
