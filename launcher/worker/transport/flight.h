// What a rank's last collectives were and how far they got: to be read when a run has failed.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <mutex>
#include <string>

#include "launcher/worker/transport/transport.h"

namespace pinstep::worker {

class FlightRecord {
 public:
  static constexpr std::size_t kKept = 256;

  enum class State { begun, done, failed };

  // Numbers count from 1 and are the same on all ranks. `operation` must live for good.
  void begin(const char* operation, std::size_t bytes);
  void end(State state);
  // Number of the last that has begun; 0 for none.
  std::uint64_t begun() const;
  // Whether that one has not ended.
  bool is_inside() const;

  // JSON lines, oldest first: {"seq": 41, "op": "all-reduce", "bytes": 1048576, "state": "done", "time":
  // 1730.25, "seconds": 0.003}. `time` is when it began, in seconds since 1970; of one that has not ended,
  // `seconds` counts up to now.
  std::string lines() const;
  // Into DIR/flight-R.jsonl, over what is there; makes DIR. Errors: those of writing.
  Result<void> write(const std::string& directory, std::uint32_t rank) const;

 private:
  using Clock = std::chrono::system_clock;
  struct Entry {
    const char* operation = nullptr;
    std::size_t bytes = 0;
    State state = State::begun;
    Clock::time_point began, ended;
  };

  mutable std::mutex mutex_;  // guards all below
  std::array<Entry, kKept> entries_;
  std::uint64_t begun_ = 0;
};

// A transport whose operations are noted. A group of sends and receives is one operation.
class RecordedTransport final : public Transport {
 public:
  RecordedTransport(std::unique_ptr<Transport> real, FlightRecord& record)
      : real_(std::move(real)), record_(record) {}

  std::uint32_t rank() const override { return real_->rank(); }
  std::uint32_t size() const override { return real_->size(); }
  Result<void> all_reduce(Array data, Reduction reduction, Stream stream) override;
  Result<void> broadcast(Array data, std::uint32_t root, Stream stream) override;
  Result<void> all_gather(Array mine, Array all, Stream stream) override;
  Result<void> send(Array data, std::uint32_t to, Stream stream) override;
  Result<void> receive(Array data, std::uint32_t from, Stream stream) override;
  Result<void> begin_group() override;
  Result<void> end_group() override;
  void abort() noexcept override { real_->abort(); }
  Result<void> poll() override { return real_->poll(); }

 private:
  template <class Operation>
  Result<void> note(const char* name, std::size_t bytes, Operation operation);

  const std::unique_ptr<Transport> real_;
  FlightRecord& record_;
  bool is_in_group_ = false;
  std::size_t group_bytes_ = 0;
};

}  // namespace pinstep::worker
