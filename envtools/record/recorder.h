// The activation recorder: what `conda activate` would do in a prefix, found out once when it is built.
// Rules and what is left out: FORMAT.md beside this file.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"

namespace pinstep {

// An Edit (base/environment.h) that owns its text.
struct RecordedEdit {
  EditOp op;
  std::string name;
  std::string value;

  bool operator==(const RecordedEdit&) const = default;
};

struct Recording {
  std::vector<RecordedEdit> edits;  // in the order to be applied
  std::vector<std::string> notes;   // what could not be recorded as it is, for people
};

struct RecordRequest {
  std::string directory;                         // where the tree lies now (a stage)
  std::string prefix;                            // where it will lie
  std::map<std::string, std::string> variables;  // the lock's
};

// Runs the prefix's etc/conda/activate.d in bash, several times, if there are any. Nothing may write into the
// directory meanwhile. Errors: invalid (a variable's name), corrupt (env_vars.d, scripts that end the shell or
// change the tree), timed_out, os.
Result<Recording> record_activation(const RecordRequest& request);

// The text of the activation file.
std::string format_recording(std::string_view id, const Recording& recording);

// ---- pure parts

// PATH, CONDA_* and variables: what needs no shell. `env_vars` are the texts of etc/conda/env_vars.d/*.json in
// the order of their names: name → text. (edits.cc)
Result<Recording> plain_edits(const std::string& prefix, const std::map<std::string, std::string>& env_vars,
                              const std::map<std::string, std::string>& variables);

// One run of all scripts: the environment before and after.
struct Observation {
  Environment before;
  Environment after;
};

// Two runs for two different users in different places, and a third where the variables that the first one
// changed, and usual lists, have values already. Which edits do the same as the scripts? Values that name the
// machine are left out. (classify.cc)
Recording classify(const Observation& first, const Observation& other, const Observation& preset,
                   const std::set<std::string>& names_of_machine = {});

// Names that differ, shell's own state left out.
std::set<std::string> changed_names(const Observation& observation);

}  // namespace pinstep
