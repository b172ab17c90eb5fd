// From a task's environment and its job's pin to the environment its program gets: what the plugin does
// in task_init and pinstep-launch does where there is no plugin.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "envtools/activation/activation.h"
#include "envtools/base/clock.h"
#include "envtools/base/environment.h"
#include "envtools/base/error.h"
#include "envtools/pin/pin.h"
#include "launcher/rendezvous/addresses.h"
#include "launcher/rendezvous/rendezvous.h"
#include "launcher/step/step.h"

namespace pinstep {

struct TaskRequest {
  Environment environment;  // as Slurm has made it for this task
  StepFacts facts;
  Pin pin;                        // policies already those in force here
  std::vector<std::string> argv;  // of the task's program
  Arrival arrival = Arrival::inside;
  Values values = Values::same_for_all_tasks;
  Trust trust;
  std::string own_bin;  // directory of pinstep's programs
  std::string address_pattern = "%h";
  Clock::Milliseconds enoent_wait{0};
};

struct PreparedTask {
  Environment environment;
  Shape shape = Shape::none;  // that the step has; none: no rendezvous variables
  PortSource port_source = PortSource::derived;
  std::uint16_t port = 0;
  std::vector<std::string> warnings;  // for this task to print
};

// `names` finds out whether this node can reach rank 0's node by name, which only gives a warning;
// nullptr: not asked. Errors: those of load_activation(), read from this node, and of the rendezvous.
Result<PreparedTask> prepare_task(const TaskRequest& request, Clock& clock, NameService* names);

// The same without entering a prefix: in a job that has none. request.pin.shape counts.
Result<PreparedTask> prepare_rendezvous(const TaskRequest& request, NameService* names);

// ---- failing

// What a task does about an error, so that a step of a thousand tasks says one sentence and ends.
struct Verdict {
  bool speaks = false;          // prints the line
  bool ends_step = false;       // has the controller kill the step's other tasks
  Clock::Milliseconds wait{0};  // before doing so: another task of this node may do it first
};

// Step errors are seen alike by every task: rank 0 speaks and nobody has to be killed. Node errors are
// seen on one node: its local rank 0 speaks, and ends the step where it has other nodes, whose tasks
// would wait for this one. An error that one task may have alone (a limit, a time-out) ends the step from
// any local rank, after the first has had its chance.
Verdict verdict(const Error& error, const StepFacts& facts, Values values);

// "pinstep: error: n1: cause (hint)\n"; the node's name for node errors only.
std::string failure_line(const Error& error, std::string_view node);

// Between saying the line and ending the step: killed at once, srun loses what the task wrote last (13 of
// 20 lines on a busy machine; none from 50 ms on).
inline constexpr Clock::Milliseconds kTimeToBeHeard{200};

inline constexpr int kOwnFailure = 125;  // exit code, as env(1) and timeout(1) have it

}  // namespace pinstep
