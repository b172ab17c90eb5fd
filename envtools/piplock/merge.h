// The wheels of a pip lock beside conda packages that bring a Python.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "envtools/lock/lock.h"
#include "envtools/piplock/piplock.h"

namespace pinstep {

// Adds them for each platform of a lock of conda packages, chosen for the Python in it; `glibc`: platform →
// version that its nodes have. A distribution that conda brings in the same version stays conda's. Gives notes.
// Errors: those of choose_wheels(), invalid (no Python), conflict (conda brings another version).
Result<std::vector<std::string>> add_wheels(Lock& lock, const PipLock& pip, const PipChoice& choice,
                                            const std::map<std::string, std::string>& glibc,
                                            const std::string& path);

}  // namespace pinstep
