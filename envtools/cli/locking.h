// What every verb that may have to solve needs: channels, profile, cache and solver out of settings and
// environment.
#pragma once

#include "envtools/cli/cli.h"
#include "envtools/cli/progress.h"
#include "envtools/config/settings.h"
#include "envtools/solver/make_lock.h"

namespace pinstep::cli {

// LockOptions without what a command line adds, and without a solver. `progress` must outlive the result.
Result<LockOptions> lock_options(const World& world, const Settings& settings, Progress& progress);

// Puts the solver's programs into the options. On a terminal a missing solver is set up, with one line that
// says so, unless the setting `setup` forbids it. Errors: not_found, with the command that makes it, and those
// of setting up.
Result<void> add_solver(LockOptions& options, const Settings& settings, Progress& progress);

// A profile by its name, or a path as typed. Errors: those of load_profile().
Result<Profile> profile_of_word(const World& world, const std::string& word);

// That of the setting `profile`; what says nothing where it is not set.
Result<Profile> usual_profile(const World& world, const Settings& settings);

// Adds what --profile and --virtual-package ask for. Errors: those of load_profile() and
// parse_virtual_package().
Result<void> add_profile(LockOptions& options, const World& world, const Parsed& parsed);

// The spec that a verb works on: as typed, else found upward from the working directory.
Result<std::string> spec_path(const World& world, const std::optional<std::string>& typed);

// The same for a verb whose one operand it is.
Result<std::string> spec_operand(const World& world, const Parsed& parsed);

}  // namespace pinstep::cli
