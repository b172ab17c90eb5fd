// How a task ends when it could not be prepared. Only for the task_init child, which is the user's process.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"
#include "launcher/prepare/prepare.h"

namespace pinstep {

// What ending a task needs, collected before anything can fail.
struct TaskEnd {
  StepFacts facts;
  std::string scancel;                // path of the program
  std::vector<std::string> step_ids;  // of all components: what scancel is told
  Environment environment;            // the task's, for scancel's SLURM_CONF
};

// Says the error, if it is this task's turn (prepare.h, Verdict), ends the step if need be, and exits 125.
[[noreturn]] void end_task(const Error& error, const TaskEnd& end);

// Bounds the time until it is destroyed. A little before the process is ended by SIGALRM's default action,
// another thread calls `on_expiry`, which must not return.
class Deadline {
 public:
  Deadline(std::chrono::seconds limit, std::function<void()> on_expiry);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;

 private:
  std::mutex mutex_;
  std::condition_variable done_;
  bool is_done_ = false;
  std::thread watcher_;
};

}  // namespace pinstep
