#include "plugin/failure.h"

#include <signal.h>
#include <unistd.h>

#include <system_error>

#include "envtools/base/fd.h"
#include "launcher/prepare/end_step.h"

namespace pinstep {
namespace {

// After the watcher's limit the alarm gives it this long to end the step.
constexpr unsigned kGraceSeconds = 5;

void set_alarm_action() {
  ::signal(SIGALRM, SIG_DFL);
  sigset_t alarm_only;
  sigemptyset(&alarm_only);
  sigaddset(&alarm_only, SIGALRM);
  ::pthread_sigmask(SIG_UNBLOCK, &alarm_only, nullptr);
}

}  // namespace

void end_task(const Error& error, const TaskEnd& end) {
  const Verdict what = verdict(error, end.facts, Values::same_for_all_tasks);
  SystemClock clock;
  if (what.wait.count() > 0) clock.sleep(what.wait);
  if (what.speaks) write_message(STDERR_FILENO, failure_line(error, end.facts.place.node));
  if (what.ends_step) {
    clock.sleep(kTimeToBeHeard);
    end_step(end.scancel, end.step_ids, end.environment);
  }
  ::_exit(kOwnFailure);
}

Deadline::Deadline(std::chrono::seconds limit, std::function<void()> on_expiry) {
  set_alarm_action();
  ::alarm(static_cast<unsigned>(limit.count()) + kGraceSeconds);
  try {
    watcher_ = std::thread([this, limit, on_expiry = std::move(on_expiry)] {
      std::unique_lock lock(mutex_);
      if (!done_.wait_for(lock, limit, [this] { return is_done_; })) on_expiry();
    });
  } catch (const std::system_error&) {
    // The user may have no thread left. The alarm still ends a task that is stuck.
  }
}

Deadline::~Deadline() {
  ::alarm(0);
  if (!watcher_.joinable()) return;
  {
    const std::lock_guard lock(mutex_);
    is_done_ = true;
  }
  done_.notify_one();
  watcher_.join();
}

}  // namespace pinstep
