// --env-build=job: the prefix is built in the job, by the batch step, before the script starts.
#pragma once

#include <string>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"
#include "envtools/pin/pin.h"

namespace pinstep {

// Runs `pinstep build` as a child of the task, as the user and in the job's cgroup, and waits for its end
// however long that takes: scancel ends both. Nothing is looked at here first, so that a file system that
// does not answer holds the child. Progress goes to the script's standard error. Errors: those of the build.
Result<void> build_in_job(const std::string& program, const Pin& pin, const Environment& environment);

}  // namespace pinstep
