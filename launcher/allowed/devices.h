// Which GPUs this process can open. Under Slurm's device constraint nothing else tells (design fact 11).
#pragma once

#include <string>

#include "launcher/machine/bits.h"

namespace pinstep {

// The numbers N of the files <directory>/nvidiaN that open. `directory` is /dev.
Bits openable_gpus(const std::string& directory);

}  // namespace pinstep
