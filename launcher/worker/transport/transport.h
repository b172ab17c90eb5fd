// What ranks exchange. Every operation is one of all ranks of the transport, or of two; all ranks call the
// same operations in the same order with equal counts and types.
//
// An operation is work of a stream of the transport's Device: it begins when the stream gets there and may
// return before it is done. One thread at a time; abort() and poll() from any thread.
//
// Each operation has a deadline, told when the transport was made. What ends it early (a peer that is gone,
// the deadline, abort) is returned by it or, if it had returned already, by poll() and the stream's
// synchronize(). After an error nothing but abort(), poll() and destruction is allowed.
// Errors: timed_out, network, invalid (arrays that do not fit), os.
#pragma once

#include <cstdint>

#include "envtools/base/error.h"
#include "launcher/worker/device/device.h"

namespace pinstep::worker {

enum class Reduction { sum, minimum, maximum };

class Transport {
 public:
  virtual ~Transport() = default;

  virtual std::uint32_t rank() const = 0;
  virtual std::uint32_t size() const = 0;

  // In place. The result is the same, bit by bit, on all ranks, and in every run with as many ranks.
  virtual Result<void> all_reduce(Array data, Reduction reduction, Stream stream) = 0;
  virtual Result<void> broadcast(Array data, std::uint32_t root, Stream stream) = 0;
  // `all` has size() times as many elements as `mine`; part r is rank r's.
  virtual Result<void> all_gather(Array mine, Array all, Stream stream) = 0;
  virtual Result<void> send(Array data, std::uint32_t to, Stream stream) = 0;
  virtual Result<void> receive(Array data, std::uint32_t from, Stream stream) = 0;

  // Between the two, operations are only noted: none waits for another of the same group, so that two ranks
  // may send to each other.
  virtual Result<void> begin_group() = 0;
  virtual Result<void> end_group() = 0;

  // Gives up: this rank's operations end with an error, and those that other ranks share with it, soon.
  virtual void abort() noexcept = 0;
  // The error that operations have met so far, if any.
  virtual Result<void> poll() = 0;
};

}  // namespace pinstep::worker
