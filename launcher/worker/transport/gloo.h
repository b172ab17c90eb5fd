// Collectives by Gloo over TCP, for devices whose memory the CPU can use. All ranks connect to all, by
// addresses that they leave in the store.
//
// An operation is done when it returns. A peer that dies is noticed at once by those that exchange data with
// it; others notice it by the deadline, or when those give up.
#pragma once

#include <chrono>
#include <memory>
#include <string>

#include "launcher/worker/store/store.h"
#include "launcher/worker/transport/transport.h"

namespace pinstep::worker {

struct GlooSettings {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::string address;    // literal, of the interface to use
  std::string interface;  // its name, instead; empty for the address
  Milliseconds connect_time{60'000};
  Milliseconds deadline{60'000};  // of each operation
};

// Errors: as get() of the store; network.
Result<std::unique_ptr<Transport>> connect_gloo(const GlooSettings& settings, Store& store, Device& device);

}  // namespace pinstep::worker
