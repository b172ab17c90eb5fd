// Asks Slurm to queue this job again, as a batch script would do.
#pragma once

#include "envtools/base/environment.h"
#include "envtools/base/error.h"

namespace pinstep::worker {

// scontrol requeue, of the job that the environment is of. Slurm then ends what still runs of it, with TERM
// first. Errors: invalid (no job), refused (Slurm says no, in its words), and those of run().
Result<void> requeue_job(const Environment& environment);

}  // namespace pinstep::worker
