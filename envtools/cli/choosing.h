// The lock that an ENV stands for; where a spec has none, it is solved, once for all who ask at one time.
#pragma once

#include <string>

#include "envtools/cli/cli.h"
#include "envtools/cli/environments.h"
#include "envtools/cli/progress.h"
#include "envtools/lock/lock.h"

namespace pinstep::cli {

struct ChosenLock {
  LockFile file;
  Lock lock;
  std::string name;  // of the spec, may be empty
};

// Whether a new lock goes beside its spec: always, or only where somebody sits at a terminal.
enum class Beside { always, on_terminal };

// `env` is a spec or a lock. The setting `lock` says what may happen to a spec. A new lock is kept in the
// first store, beside the spec as well as far as `beside` says so and it can be written there. Says on
// standard error, in a line, what it has solved and where that is. A lock that another program made is taken
// as it is, a list without sha256 is completed (completing.h). Errors: conflict (the spec was changed since),
// not_found (frozen, and no lock), and those of solving.
Result<ChosenLock> choose_lock(const World& world, const Place& place, const NamedEnv& env, Beside beside,
                               Progress& progress);

// The lock that the stores keep for a spec without one beside it; nothing where it was not solved yet.
// Errors: those of reading spec and configuration.
Result<std::optional<LockFile>> stored_lock(const World& world, const Place& place,
                                            const std::string& spec_path);

// That a spec was changed since it was locked, if the lock beside it says so.
std::optional<Error> changed_since_locked(const World& world, const Place& place, const std::string& spec_path);

}  // namespace pinstep::cli
