#include "launcher/worker/train/watchdog.h"

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
  std::unique_lock lock(mutex_);
  while (wait(lock, kInterval)) {
    lock.unlock();
    const bool is_well = store_.tell_progress(calls_.reached(), answer_time_);
    lock.lock();
    if (is_over_) return;
    if (is_well) continue;
    lock.unlock();
    calls_.abort();
    lock.lock();
    if (wait(lock, kOwnTime)) calls_.hangs();
    return;
  }
}

}  // namespace pinstep::worker
