// Collectives by Gloo over TCP, for devices whose memory the CPU can use. All ranks connect to all, by
// addresses that they leave in the store.
//
// An operation is done when it returns. A peer that dies is noticed at once by those that exchange data with
// it; others notice it by the deadline, or when those give up.
#pragma once

#include <chrono>
#include <condition_variable>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "launcher/worker/store/store.h"
#include "launcher/worker/transport/transport.h"

namespace gloo::transport {
class Device;
}
namespace gloo::rendezvous {
class Context;
}

namespace pinstep::worker {

struct GlooSettings {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::string address;    // literal, of the interface to use
  std::string interface;  // its name, instead; empty for the address
  Milliseconds connect_time{60'000};
  Milliseconds deadline{60'000};  // of each operation
  std::string keys = "gloo/";     // before its words in the store: another for each transport
};

class GlooTransport final : public Transport {
 public:
  // Connected to nobody yet. Errors: network (no such address or interface).
  static Result<std::unique_ptr<GlooTransport>> create(const GlooSettings& settings, Device& device);
  ~GlooTransport() override;

  // All ranks together; returns when all are connected to all, or abort() was called, which Gloo itself would
  // not notice. Keep store and transport where this fails, until the process ends: Gloo may still try, in a
  // thread, and resets the connections it closes; a peer that has not accepted one yet would die of it. Errors:
  // as get() of the store; timed_out, network.
  Result<void> connect(Store& store);

  std::uint32_t rank() const override { return settings_.rank; }
  std::uint32_t size() const override { return settings_.size; }
  Result<void> all_reduce(Array data, Reduction reduction, Stream stream) override;
  Result<void> broadcast(Array data, std::uint32_t root, Stream stream) override;
  Result<void> all_gather(Array mine, Array all, Stream stream) override;
  Result<void> send(Array data, std::uint32_t to, Stream stream) override {
    return exchange({data, to, true}, stream);
  }
  Result<void> receive(Array data, std::uint32_t from, Stream stream) override {
    return exchange({data, from, false}, stream);
  }
  Result<void> begin_group() override {
    is_in_group_ = true;
    return {};
  }
  Result<void> end_group() override;
  void abort() noexcept override;
  Result<void> poll() override;

 private:
  struct Noted {
    Array array;
    std::uint32_t peer;
    bool is_send;
  };

  GlooTransport(const GlooSettings& settings, Device& device);
  Result<void> connect_mesh(Store& store);
  void set_limit(Milliseconds limit);
  // Runs an operation of Gloo; its exception, or an abort meanwhile, becomes this transport's error.
  template <class Operation>
  Result<void> run(const char* name, std::size_t bytes, Stream stream, Operation operation);
  Result<void> exchange(Noted noted, Stream stream);
  void exchange_all(const std::vector<Noted>& noted);

  const GlooSettings settings_;
  Device& device_;
  std::shared_ptr<gloo::transport::Device> network_;
  std::shared_ptr<gloo::rendezvous::Context> context_;
  Milliseconds limit_;        // of each operation
  std::uint32_t number_ = 0;  // of operations, the same on all ranks
  bool is_in_group_ = false;
  std::vector<Noted> noted_;
  std::mutex mutex_;  // guards all below
  bool is_connected_ = false;
  Result<void> error_;
  std::condition_variable changed_;  // met_ or error_
  std::optional<Result<void>> met_;  // what connect_mesh() came to
  std::future<void> connecting_;     // last: the end waits for it
};

}  // namespace pinstep::worker
