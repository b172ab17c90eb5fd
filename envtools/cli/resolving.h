// From the words of a submission to a pin: what the plugin's child and pinstep's own sbatch, salloc and srun
// do.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "envtools/cli/cli.h"
#include "envtools/pin/pin.h"

namespace pinstep::cli {

struct ResolveWords {
  std::string env;  // ENV; empty with `upward`: the spec found upward from here
  bool upward = false;
  std::vector<std::string> site;     // arguments of the plugstack.conf line
  std::optional<std::string> lock;   // auto, frozen, update
  std::optional<std::string> build;  // submit, job, never
  bool batch_step = true;  // the plugin's batch step follows, which can build; where not, `job` is `submit`
  std::optional<std::string> shape;  // auto, rank, torchrun, spawn, none; nothing: auto
  bool gpu_share = false;
};

// The pin, or nothing for `none` without a shape or with that of `none`. Solves and builds as far as it may;
// says in a line each what it has done. Errors: usage (a word that is none of those), and whatever went wrong
// on the way.
Result<std::optional<Pin>> resolve_words(const World& world, const ResolveWords& words);

}  // namespace pinstep::cli
