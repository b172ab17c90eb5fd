// The border between Slurm's C and our C++. An exception that gets out of a hook aborts slurmstepd and
// leaves a batch job RUNNING for ever (design fact 3), even with an optional plugin.
#pragma once

#include <exception>

#include "plugin/faults.h"

namespace pinstep {

// Runs a hook's body; whatever happens in it, Slurm gets 0: every error has been dealt with by then, and a
// hook that fails drains nodes. `report` gets one line and must not throw.
template <class Body, class Report>
int guarded(const char* hook, Body&& body, Report&& report) noexcept {
  try {
    inject_fault(hook);
    body();
  } catch (const std::exception& error) {
    report(hook, error.what());
  } catch (...) {
    report(hook, "unknown exception");
  }
  return 0;
}

}  // namespace pinstep
