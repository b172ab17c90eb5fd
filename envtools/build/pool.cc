#include "envtools/build/pool.h"

#include <sched.h>

#include "envtools/base/without_exceptions.h"

namespace pinstep {

Pool::Pool(int threads) {
  for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { work(); });
}

Pool::~Pool() {
  {
    const std::lock_guard lock(mutex_);
    tasks_.clear();
    no_more_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_)
    if (thread.joinable()) thread.join();
}

void Pool::add(Task task) {
  {
    const std::lock_guard lock(mutex_);
    if (error_) return;
    tasks_.push_back(std::move(task));
  }
  changed_.notify_one();
}

Result<void> Pool::finish() {
  {
    const std::lock_guard lock(mutex_);
    no_more_ = true;
  }
  changed_.notify_all();
  for (std::thread& thread : threads_) thread.join();
  if (error_) return tl::unexpected(*error_);
  return {};
}

void Pool::work() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [this] { return no_more_ || !tasks_.empty(); });
    if (tasks_.empty()) return;
    const Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    const Result<void> done = without_exceptions(task);
    lock.lock();
    if (done || error_) continue;
    error_ = done.error();
    tasks_.clear();
  }
}

int thread_count(int wanted) {
  if (wanted > 0) return wanted;
  cpu_set_t set;
  return ::sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

}  // namespace pinstep
