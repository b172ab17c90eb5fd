// Telling pinstep's own options among the words of a Slurm command line.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep {

using OurOption = std::pair<std::string, std::string>;  // {"env-spec", "environment.yml"}

struct SlurmWords {
  std::vector<OurOption> ours;      // in order
  std::vector<std::string> slurms;  // everything else, in order
  std::size_t program = 0;          // where the script or program is in it; its size if there is none
};

bool is_our_option(std::string_view word);

// The option that such a word is; `next` gives the word behind it, or nullptr at the end. Errors: usage (an
// unknown option, a value missing, a value where there is none).
Result<OurOption> take_option(std::string_view word, const std::function<const std::string*()>& next);

// Words that begin with --env- and stand before the script or program are ours. That one is the first word
// that neither begins with '-' nor is the value of an option before it; Slurm's flags, which take no value, are
// in a table, every other option written without '=' is taken to have its value in the next word. Errors: as
// take_option().
// `command` is sbatch, salloc or srun: -W and --wait are a flag of the first and take a value in the others.
Result<SlurmWords> split_slurm_words(const std::string& command, const std::vector<std::string>& words);

}  // namespace pinstep
