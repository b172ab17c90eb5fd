// Independent pieces of work in several threads.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "envtools/base/error.h"
#include "envtools/base/without_exceptions.h"

namespace pinstep {

// Runs work(0) … work(count - 1), started in this order, in `jobs` threads; the first error ends it. `report`
// is called in this thread with how many are done.
inline Result<void> run_workers(std::size_t count, int jobs,
                                const std::function<Result<void>(std::size_t)>& work,
                                const std::function<void(std::size_t)>& report = {}) {
  std::atomic<std::size_t> next = 0, done = 0;
  std::mutex mutex;
  std::condition_variable ended;
  std::optional<Error> error;
  int running = jobs < 1 ? 1 : jobs;

  const auto worker = [&] {
    for (std::size_t i; (i = next++) < count; ++done) {
      if (auto result = without_exceptions([&] { return work(i); }); !result) {
        const std::lock_guard lock(mutex);
        if (!error) error = result.error();
        next = count;
      }
    }
    const std::lock_guard lock(mutex);
    --running;
    ended.notify_all();
  };
  std::vector<std::jthread> threads;
  for (int i = running; i > 0; --i) threads.emplace_back(worker);
  std::unique_lock lock(mutex);
  while (!ended.wait_for(lock, std::chrono::milliseconds(200), [&] { return running == 0; }))
    if (report) report(done);
  lock.unlock();
  threads.clear();
  if (error) return tl::unexpected(*error);
  if (report) report(count);
  return {};
}

}  // namespace pinstep
