// Threads that work off what they are given; the first error ends the work.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep {

class Pool {
 public:
  using Task = std::function<Result<void>()>;

  explicit Pool(int threads);
  ~Pool();  // tasks that run are finished, the others dropped
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  void add(Task task);
  // Until all tasks are done or one has failed. Call it once, as the last thing. Errors: that of the first that
  // failed.
  Result<void> finish();

 private:
  void work();

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  std::optional<Error> error_;
  bool no_more_ = false;
  std::vector<std::thread> threads_;  // only touched by the owner
};

// How many threads `wanted` means: itself, or for 0 as many as there are cores for this process.
int thread_count(int wanted);

}  // namespace pinstep
