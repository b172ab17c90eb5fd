// pinstep's own options in the #SBATCH lines of a batch script, which sbatch without the plugin refuses.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"
#include "envtools/resolve/slurm_words.h"

namespace pinstep {

struct BatchLines {
  std::vector<OurOption> ours;  // in order
  bool name_the_job = false;    // a line has --job-name or -J
  std::string script;           // the same without ours, line for line
};

// As sbatch reads them: lines that begin with #SBATCH, up to the first that is neither blank nor a comment;
// words may be quoted, a word that begins with # ends the line. In them words that begin with --env- are ours.
// Errors: usage, with the line's number (an unknown --env- option, a value missing).
Result<BatchLines> split_batch_lines(std::string_view script);

}  // namespace pinstep
