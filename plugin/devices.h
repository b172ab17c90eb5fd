// Whether Slurm confines this job to its devices.
#pragma once

#include "envtools/base/environment.h"

namespace pinstep {

// cgroup v1 says so itself. v2 hides it (a BPF program), there the answer is what cgroup.conf beside
// SLURM_CONF says. false where neither can be read. To be called in the job's cgroup, as the user.
bool devices_are_constrained(const Environment& environment);

}  // namespace pinstep
