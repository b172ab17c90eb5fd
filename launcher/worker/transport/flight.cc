#include "launcher/worker/transport/flight.h"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>

#include "envtools/json/json.h"
#include "launcher/worker/data/npy.h"
#include "launcher/worker/transport/halt.h"

namespace pinstep::worker {
namespace {

constexpr std::array<const char*, 3> kStates{"begun", "done", "failed"};

double seconds(std::chrono::system_clock::duration duration) {
  return std::chrono::duration<double>(duration).count();
}

}  // namespace

void FlightRecord::begin(const char* operation, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  entries_[begun_++ % kKept] = {operation, bytes, State::begun, Clock::now(), {}};
}

void FlightRecord::end(State state) {
  const std::lock_guard lock(mutex_);
  Entry& entry = entries_[(begun_ - 1) % kKept];
  entry.state = state;
  entry.ended = Clock::now();
}

std::uint64_t FlightRecord::begun() const {
  const std::lock_guard lock(mutex_);
  return begun_;
}

bool FlightRecord::is_inside() const {
  const std::lock_guard lock(mutex_);
  return begun_ > 0 && entries_[(begun_ - 1) % kKept].state == State::begun;
}

std::string FlightRecord::lines() const {
  const std::lock_guard lock(mutex_);
  std::string text;
  for (std::uint64_t i = begun_ - std::min<std::uint64_t>(begun_, kKept); i < begun_; ++i) {
    const Entry& entry = entries_[i % kKept];
    const auto until = entry.state == State::begun ? Clock::now() : entry.ended;
    text += dump_json({{"seq", i + 1},
                       {"op", entry.operation},
                       {"bytes", entry.bytes},
                       {"state", kStates[static_cast<std::size_t>(entry.state)]},
                       {"time", seconds(entry.began.time_since_epoch())},
                       {"seconds", seconds(until - entry.began)}}) +
            "\n";
  }
  return text;
}

Result<void> FlightRecord::write(const std::string& directory, std::uint32_t rank) const {
  if (::mkdir(directory.c_str(), 0777) != 0 && errno != EEXIST)
    return fail_errno(errno, "make directory", directory);
  return write_whole(directory + "/flight-" + std::to_string(rank) + ".jsonl", lines(), "");
}

template <class Operation>
Result<void> RecordedTransport::note(const char* name, std::size_t bytes, Operation operation) {
#ifdef PINSTEP_HALTS  // a rank that a test has hang at a given place
  halt_before(name);
#endif
  record_.begin(name, bytes);
  auto done = operation();
  record_.end(done ? FlightRecord::State::done : FlightRecord::State::failed);
  return done;
}

Result<void> RecordedTransport::all_reduce(Array data, Reduction reduction, Stream stream) {
  return note("all-reduce", data.bytes(), [&] { return real_->all_reduce(data, reduction, stream); });
}

Result<void> RecordedTransport::broadcast(Array data, std::uint32_t root, Stream stream) {
  return note("broadcast", data.bytes(), [&] { return real_->broadcast(data, root, stream); });
}

Result<void> RecordedTransport::all_gather(Array mine, Array all, Stream stream) {
  return note("all-gather", mine.bytes(), [&] { return real_->all_gather(mine, all, stream); });
}

Result<void> RecordedTransport::send(Array data, std::uint32_t to, Stream stream) {
  group_bytes_ += data.bytes();
  if (is_in_group_) return real_->send(data, to, stream);
  return note("send", std::exchange(group_bytes_, 0), [&] { return real_->send(data, to, stream); });
}

Result<void> RecordedTransport::receive(Array data, std::uint32_t from, Stream stream) {
  group_bytes_ += data.bytes();
  if (is_in_group_) return real_->receive(data, from, stream);
  return note("receive", std::exchange(group_bytes_, 0), [&] { return real_->receive(data, from, stream); });
}

Result<void> RecordedTransport::begin_group() {
  is_in_group_ = true;
  return real_->begin_group();
}

Result<void> RecordedTransport::end_group() {
  is_in_group_ = false;
  return note("send and receive", std::exchange(group_bytes_, 0), [&] { return real_->end_group(); });
}

}  // namespace pinstep::worker
