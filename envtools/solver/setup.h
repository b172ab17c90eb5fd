// The solver's private venv: python with the pinned packages of requirements.txt, nothing of it shared with
// anything else.
//
//   DIR/<stamp>            a link to the venv in use; its appearance is the act of publishing
//   DIR/<stamp>-<token>/   venvs; a venv cannot be moved, so each is made under the name it keeps
//
// <stamp> is made of the requirements: another set of pins is another venv, and several versions of pinstep
// share one DIR. Two setups at once each make one; the first to set the link wins, the other's goes.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"
#include "envtools/solver/solver.h"

namespace pinstep {

// $XDG_STATE_HOME/pinstep/solver or ~/.local/state/pinstep/solver. Errors: not_found (neither is set).
Result<std::string> default_solver_directory(const Environment& environment);

// The 16 hex digits that stand for the text of requirements.txt.
std::string solver_stamp(std::string_view requirements);

// The python of the venv in DIR that was made from these requirements; nothing where there is none, or where
// the python it was made with is gone.
std::optional<std::string> find_solver(const std::string& directory, std::string_view stamp);

struct SetupRequest {
  std::string directory;     // absolute: DIR
  std::string requirements;  // path of requirements.txt
  std::string wheels;        // absolute; empty: from the index that pip knows
  std::function<void(const std::string&)> progress = [](const std::string&) {};
};

struct SetupResult {
  std::string python;  // of the venv
  bool made = false;   // false: it was there
};

// Makes the venv unless it is there. Errors: not_found (no python that can make one, no such wheel), network,
// corrupt (a wheel that is not the pinned one), no_space, os.
Result<SetupResult> set_up_solver(const Environment& environment, const SetupRequest& request);

// Fetches the wheels into `directory`, for a later set_up_solver() without a network on a machine of this
// kind. Errors: as above.
Result<void> download_wheels(const Environment& environment, const std::string& requirements,
                             const std::string& directory,
                             const std::function<void(const std::string&)>& progress);

// ---- what solving needs

struct SolverPlaces {
  std::string configured;  // the setting solver=DIR; may be empty
  std::string scripts;     // directory of the back ends and requirements.txt
};

// The solver, the configured one first, then the user's own. Errors: not_found, with the command that
// makes it.
Result<SolverPrograms> find_solver_programs(const Environment& environment, const SolverPlaces& places);

}  // namespace pinstep
