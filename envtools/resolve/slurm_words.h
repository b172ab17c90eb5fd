// Telling pinstep's own options among the words of a Slurm command line.
#pragma once

#include <string>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep {

struct SlurmWords {
  std::vector<std::pair<std::string, std::string>> ours;  // {"env-spec", "environment.yml"}, in order
  std::vector<std::string> slurms;                        // everything else, in order
};

// Words that begin with --env- and stand before the script or program are ours. That one is the first word
// that neither begins with '-' nor is the value of an option before it; Slurm's flags, which take no value, are
// in a table, every other option written without '=' is taken to have its value in the next word. Errors: usage
// (an unknown --env- option, a value missing).
// `command` is sbatch, salloc or srun: -W and --wait are a flag of the first and take a value in the others.
Result<SlurmWords> split_slurm_words(const std::string& command, const std::vector<std::string>& words);

}  // namespace pinstep
