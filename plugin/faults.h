// Where tests make a hook fail. In the installed plugin this is nothing; build/tests/pinstep-faults.so is
// the same sources with PINSTEP_FAULTS and a fault table (tests/faults/), never installed.
#pragma once

namespace pinstep {

#ifdef PINSTEP_FAULTS
// Throws, returns or stalls as the node's fault file says for this point.
void inject_fault(const char* point);
#else
inline void inject_fault(const char* /*point*/) {}
#endif

}  // namespace pinstep
