// Binding this process, and so the program it becomes, to processors and a memory node.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "envtools/base/error.h"
#include "launcher/machine/bits.h"

namespace pinstep {

// The processors this process may run on; empty where the kernel does not tell.
Bits affinity();

// Errors: os (none of them is this process's to use).
Result<void> bind_to(const Bits& processors);

enum class MemoryPolicy {
  preferred,  // from the node while it has any
  bind,       // from no other node: the program is killed where it wants more
  none,       // as the kernel does by itself: from the node of the processor that touches it first
};
std::string_view to_string(MemoryPolicy policy);
std::optional<MemoryPolicy> parse_memory_policy(std::string_view name);

// For all memory that this process asks for from now on. Errors: os and others of set_mempolicy(2).
Result<void> take_memory_of(std::uint32_t node, MemoryPolicy policy);

}  // namespace pinstep
