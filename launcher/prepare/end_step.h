// Ending a step that one of its tasks cannot be a part of.
#pragma once

#include <string>
#include <vector>

#include "envtools/base/environment.h"
#include "launcher/step/step.h"

namespace pinstep {

// Of all components, as scancel wants them: each by its own job id.
std::vector<std::string> step_ids(const StepId& id, const Environment& environment);

// Has the program `scancel` kill every task of the step `ids`, this one included, and waits for it: Slurm kills
// what a task leaves behind. Where the step ends before it is killed the caller's exit code is the task's,
// which must not be 0. Of `environment` scancel gets SLURM_CONF. Sets an alarm.
void end_step(const std::string& scancel, const std::vector<std::string>& ids, const Environment& environment);

}  // namespace pinstep
