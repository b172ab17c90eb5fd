// Which GPUs this process can open. Under Slurm's device constraint nothing else tells (design fact 11): of
// cgroup v2 the list is a program in the kernel, and of v1 devices.list says "a *:* rwm", since Slurm allows
// all and then denies some.
#pragma once

#include <string>

#include "launcher/machine/bits.h"

namespace pinstep {

// The numbers N of the files <dev>/nvidiaN that open. Where there is none of these, AMD's: which of the files
// <dev>/dri/renderDN open, counted in bus order, by <sys>/class/drm. `dev` is /dev, `sys` is /sys.
Bits openable_gpus(const std::string& dev, const std::string& sys);

}  // namespace pinstep
