// Measures one operation of one size between all ranks of a transport.
#pragma once

#include "launcher/worker/bench/operation.h"
#include "launcher/worker/transport/transport.h"

namespace pinstep::worker {

struct Effort {
  std::uint32_t iterations = 0;  // 0: as many as fit into the time
  double seconds = 0.2;          // for each operation and size, once it is warm
};

struct Exchanged {
  Operation operation = Operation::all_reduce;
  std::uint32_t ranks = 1;
  std::size_t bytes = 0;
  std::uint32_t iterations = 0;
  double seconds = 0;       // of one, the mean of all iterations and ranks
  std::uint64_t wrong = 0;  // elements of all ranks, before and after what was timed

  double algorithm_bandwidth() const { return static_cast<double>(bytes) / seconds; }  // bytes per second
  double bus_bandwidth() const { return algorithm_bandwidth() * bus_factor(operation, ranks); }
};

// All ranks together; at least two. Results are checked once before the timed iterations, which also warms up,
// and once after them. Errors: those of transport and device.
Result<Exchanged> measure(Device& device, Transport& transport, Operation operation, std::size_t bytes,
                          const Effort& effort);

// The value of all ranks together, reduced. All ranks together.
Result<double> reduced(Device& device, Transport& transport, double value, Reduction reduction);

// Most memory that measure() takes for this size on each rank, the transport's own included.
std::size_t memory_of(Operation operation, std::size_t bytes, std::uint32_t ranks);

}  // namespace pinstep::worker
