// Binding this process, and so the program it becomes, to processors and a memory node.
#pragma once

#include <cstdint>

#include "envtools/base/error.h"
#include "launcher/machine/bits.h"

namespace pinstep {

// The processors this process may run on; empty where the kernel does not tell.
Bits affinity();

// Errors: os (none of them is this process's to use).
Result<void> bind_to(const Bits& processors);

// Memory comes from this node while it has any. Errors: os.
Result<void> prefer_memory_of(std::uint32_t node);

}  // namespace pinstep
