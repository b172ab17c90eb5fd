#include "launcher/worker/train/watchdog.h"

#include <optional>

namespace pinstep::worker {
namespace {

constexpr Milliseconds kInterval{200};
constexpr Milliseconds kOwnTime{3000};  // for the rank's own thread, once it was told to give up

}  // namespace

Watchdog::Watchdog(TcpStore& store, Milliseconds answer_time, Calls calls)
    : store_(store), answer_time_(answer_time), calls_(std::move(calls)), thread_([this] { run(); }) {}

Watchdog::~Watchdog() {
  stop();
  thread_.join();
}

void Watchdog::stop() {
  const std::lock_guard lock(mutex_);
  is_over_ = true;
  changed_.notify_all();
}

bool Watchdog::wait(std::unique_lock<std::mutex>& lock, Milliseconds time) {
  return !changed_.wait_for(lock, time, [this] { return is_over_; });
}

void Watchdog::run() {
  std::optional<Moment> aborted;
  std::unique_lock lock(mutex_);
  while (wait(lock, kInterval)) {
    lock.unlock();
    // Also after that: who is not heard is called silent, and this rank may only be stuck.
    const bool is_well = store_.tell_progress(calls_.reached(), answer_time_);
    lock.lock();
    if (is_over_) return;
    if (!is_well && !aborted) {
      aborted = std::chrono::steady_clock::now();
      lock.unlock();
      calls_.abort();
      lock.lock();
    }
    if (aborted && std::chrono::steady_clock::now() - *aborted >= kOwnTime) return calls_.hangs();
  }
}

}  // namespace pinstep::worker
