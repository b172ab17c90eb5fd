// Whether Slurm confines this job to its devices.
#pragma once

#include "envtools/base/environment.h"

namespace pinstep {

// What cgroup.conf beside SLURM_CONF says; where there is none, what the job's cgroup v1 shows. The kernel is
// asked second: a group that denies single devices still lists "a *:* rwm", and v2 shows nothing. false where
// neither can be read. To be called in the job's cgroup, as the user.
bool devices_are_constrained(const Environment& environment);

}  // namespace pinstep
