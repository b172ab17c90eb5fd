// The border between Slurm's C and our C++. An exception that gets out of a hook aborts slurmstepd and
// leaves a batch job RUNNING for ever (design fact 3), even with an optional plugin.
#pragma once

#include <exception>

#include "plugin/faults.h"

namespace pinstep {

// Runs a hook's body and gives 0, since every error has been dealt with by then and a hook that fails drains
// nodes. After an exception Slurm gets what `on_exception` makes of it, which must not throw.
template <class Body, class OnException>
int guarded(const char* hook, Body&& body, OnException&& on_exception) noexcept {
  try {
    inject_fault(hook);
    body();
    return 0;
  } catch (const std::exception& error) {
    return on_exception(hook, error.what());
  } catch (...) {
    return on_exception(hook, "unknown exception");
  }
}

}  // namespace pinstep
