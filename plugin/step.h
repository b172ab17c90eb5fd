// The step's side: slurmstepd on every node, and its task_init children.
#pragma once

#include "plugin/host.h"
#include "plugin/state.h"

namespace pinstep {

// init: reads the site's settings; what is wrong there goes to slurmd's log.
void open_step(const Host& host, State& state);

// user_init: holds the derived port if this node is the master node and nothing better is there. A port
// that is taken is remembered for the tasks to report.
void hold_step_port(const Host& host, State& state);

// task_init, in the task's own process: makes its environment, or ends it with exit code 125.
void prepare_step_task(Host& host, const State& state);

// What is left to do after an exception in prepare_step_task: the task ends, as after any error of its node.
[[noreturn]] void abandon_step_task(const Host& host, const State& state, const char* what) noexcept;

}  // namespace pinstep
