// Reductions of arrays in host memory.
#pragma once

#include "launcher/worker/transport/transport.h"

namespace pinstep::worker {

// into[i] = into[i] ∘ with[i] for the elements of both. Errors: invalid (types or counts that differ, or a
// type without arithmetic here: bf16).
Result<void> reduce_into(Array into, Array with, Reduction reduction);

}  // namespace pinstep::worker
