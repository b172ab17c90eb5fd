// Entering and leaving a prefix: from one environment to the next, without touching a process.
#pragma once

#include <string>
#include <string_view>

#include "envtools/activation/activation.h"
#include "envtools/base/environment.h"

namespace pinstep {

// What happens to variables that reach past a prefix into somebody else's Python or libraries.
struct Policies {
  enum class UserSite { off, keep };             // ~/.local/lib/pythonX.Y/site-packages
  enum class PythonPath { entry, clear, keep };  // cleared at entry only, always, never
  enum class ClearOrKeep { clear, keep };

  UserSite user_site = UserSite::off;
  PythonPath pythonpath = PythonPath::entry;
  ClearOrKeep pythonhome = ClearOrKeep::clear;
  ClearOrKeep ld_library_path = ClearOrKeep::keep;

  bool operator==(const Policies&) const = default;
};

// Where the environment comes from.
enum class Arrival {
  entry,   // it enters the job here (batch step, interactive step, srun outside a job): leftovers of the
           // login shell are taken out first
  inside,  // it was inside the job before: what is set there is the user's word
};

struct Entrance {
  const Activation& activation;
  std::string_view prefix;  // absolute path
  Policies policies;
  Arrival arrival = Arrival::inside;
  std::string_view own_bin;  // pinstep's programs, appended to PATH; empty: nothing is appended
};

// The environment inside the prefix. Where it is inside this same prefix already (an inner srun), only
// list elements that got lost are put back, as after a login shell has reset PATH; everything else is
// left as the user has it since.
Environment enter(Environment environment, const Entrance& entrance);

// The environment as it was before enter(): pinstep's edits are taken back where their values are still
// there, and all PINSTEP_STEP_* variables go. Rendezvous variables are not its business. What stays
// changed: variables that a policy or the entry into the job cleared; the order of a list and what `remove`
// took out of it; a list that was set and empty is unset, an empty PATH keeps its fallback; pinstep's own
// programs stay on PATH.
Environment leave(Environment environment);

// leave(), and what conda, venv and pixi left behind when they were active in the login shell: their
// state variables and their directories on PATH. Their own set-up (CONDA_EXE and the like) stays, so
// that `conda` still works in a script.
Environment without_leftovers(Environment environment);

}  // namespace pinstep
