#include "launcher/worker/bench/exchange.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "launcher/worker/bench/pattern.h"
#include "launcher/worker/device/memory.h"
#include "launcher/worker/try.h"
#include "launcher/worker/words.h"

namespace pinstep::worker {
namespace {

constexpr std::uint32_t kLeast = 2;  // iterations
constexpr std::uint32_t kMost = 1000;

// An operation with its memory, ready to be done again and again.
class Exchange {
 public:
  static Result<Exchange> create(Device& device, Transport& transport, Operation operation, std::size_t bytes) {
    Exchange exchange(device, transport, operation);
    const std::size_t count = bytes / sizeof(float);
    const std::size_t mine = operation == Operation::all_gather ? count / transport.size() : count;
    const bool has_result = operation == Operation::all_gather || operation == Operation::send_receive;
    PINSTEP_TRY(exchange.take(exchange.mine_, mine));
    if (has_result) PINSTEP_TRY(exchange.take(exchange.result_, count));
    return exchange;
  }

  Result<void> run() {
    const std::uint32_t rank = transport_.rank(), size = transport_.size();
    switch (operation_) {
      case Operation::all_reduce:
        return transport_.all_reduce(mine_.array(), Reduction::sum, Stream{});
      case Operation::broadcast:
        return transport_.broadcast(mine_.array(), 0, Stream{});
      case Operation::all_gather:
        return transport_.all_gather(mine_.array(), result_.array(), Stream{});
      case Operation::send_receive:
        PINSTEP_TRY(transport_.begin_group());
        PINSTEP_TRY(transport_.send(mine_.array(), (rank + 1) % size, Stream{}));
        PINSTEP_TRY(transport_.receive(result_.array(), (rank + size - 1) % size, Stream{}));
        return transport_.end_group();
    }
    return {};
  }

  Result<void> synchronize() { return device_.synchronize(Stream{}); }

  // With numbers that tell whose they are; the results are empty.
  Result<void> fill_in() {
    if (result_.array().count > 0) PINSTEP_TRY(device_.zero(Stream{}, result_.array()));
    if (operation_ == Operation::broadcast && transport_.rank() != 0) return empty();
    return fill(device_, Stream{}, mine_.array(), transport_.rank());
  }

  // Zeros: in-place sums of anything else would not end.
  Result<void> empty() { return device_.zero(Stream{}, mine_.array()); }

  Result<std::uint64_t> wrong() {
    const std::uint32_t rank = transport_.rank(), size = transport_.size();
    switch (operation_) {
      case Operation::all_reduce:
        return count_wrong(device_, Stream{}, mine_.array(), given_by_all, size);
      case Operation::broadcast:
        return count_wrong(device_, Stream{}, mine_.array(), given, 0);
      case Operation::send_receive:
        return count_wrong(device_, Stream{}, result_.array(), given, (rank + size - 1) % size);
      case Operation::all_gather:
        break;
    }
    std::uint64_t all = 0;
    const std::size_t part = mine_.array().count;
    for (std::uint32_t of = 0; of < size; ++of) {
      const auto wrong = count_wrong(device_, Stream{}, result_.array().part(of * part, part), given, of);
      if (!wrong) return wrong;
      all += *wrong;
    }
    return all;
  }

 private:
  Exchange(Device& device, Transport& transport, Operation operation)
      : device_(device), transport_(transport), operation_(operation) {}

  Result<void> take(Memory& memory, std::size_t count) {
    auto made = Memory::allocate(device_, count, Type::f32);
    if (!made) return tl::unexpected(made.error());
    memory = std::move(*made);
    return device_.zero(Stream{}, memory.array());
  }

  Device& device_;
  Transport& transport_;
  const Operation operation_;
  Memory mine_, result_;
};

// Seconds of one of so many.
Result<double> timed(Exchange& exchange, std::uint32_t iterations) {
  const double began = seconds_now();
  for (std::uint32_t i = 0; i < iterations; ++i) PINSTEP_TRY(exchange.run());
  PINSTEP_TRY(exchange.synchronize());
  return (seconds_now() - began) / iterations;
}

Result<std::uint64_t> checked(Exchange& exchange) {
  PINSTEP_TRY(exchange.fill_in());
  PINSTEP_TRY(exchange.run());
  return exchange.wrong();
}

}  // namespace

Result<double> reduced(Device& device, Transport& transport, double value, Reduction reduction) {
  auto memory = Memory::allocate(device, 1, Type::f64);
  if (!memory) return tl::unexpected(memory.error());
  const Array array = memory->array();
  PINSTEP_TRY(device.copy(Stream{}, array.data, &value, sizeof value, Direction::to_device));
  PINSTEP_TRY(device.synchronize(Stream{}));
  PINSTEP_TRY(transport.all_reduce(array, reduction, Stream{}));
  PINSTEP_TRY(device.copy(Stream{}, &value, array.data, sizeof value, Direction::to_host));
  PINSTEP_TRY(device.synchronize(Stream{}));
  return value;
}

Result<Exchanged> measure(Device& device, Transport& transport, Operation operation, std::size_t bytes,
                          const Effort& effort) {
  Exchanged found{operation, transport.size(), rounded_bytes(operation, bytes, transport.size()), 0, 0, 0};
  auto exchange = Exchange::create(device, transport, operation, found.bytes);
  if (!exchange) return tl::unexpected(exchange.error());
  const auto before = checked(*exchange);
  if (!before) return tl::unexpected(before.error());
  PINSTEP_TRY(exchange->empty());
  const auto mean = [&](double value) {
    return reduced(device, transport, value / transport.size(), Reduction::sum);
  };

  // One for all ranks to be at the same place, and to know how long it takes.
  found.iterations = effort.iterations;
  if (const auto met = mean(0); !met) return tl::unexpected(met.error());
  if (effort.iterations == 0) {
    const auto one = timed(*exchange, 1).and_then(mean);
    if (!one) return tl::unexpected(one.error());
    const double fit = effort.seconds / std::max(*one, 1e-9);
    found.iterations = static_cast<std::uint32_t>(std::clamp<double>(fit, kLeast, kMost));
  }
  const auto seconds = timed(*exchange, found.iterations).and_then(mean);
  if (!seconds) return tl::unexpected(seconds.error());
  found.seconds = *seconds;

  const auto after = checked(*exchange);
  if (!after) return tl::unexpected(after.error());
  const auto wrong = reduced(device, transport, static_cast<double>(*before + *after), Reduction::sum);
  if (!wrong) return tl::unexpected(wrong.error());
  found.wrong = static_cast<std::uint64_t>(*wrong);
  return found;
}

std::size_t memory_of(Operation operation, std::size_t bytes, std::uint32_t ranks) {
  switch (operation) {
    case Operation::all_reduce:  // Gloo's ring receives into memory of its own
      return bytes + 2 * bytes / ranks;
    case Operation::all_gather:
      return bytes + bytes / ranks;
    case Operation::send_receive:
      return 2 * bytes;
    case Operation::broadcast:
      return bytes;
  }
  return bytes;
}

}  // namespace pinstep::worker
