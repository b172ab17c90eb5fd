// Giving this rank its place: finding the map of the node, binding to it, and the variables that tell the
// program.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "envtools/base/clock.h"
#include "envtools/base/environment.h"
#include "launcher/launch/options.h"
#include "launcher/mapfile/node_map.h"
#include "launcher/step/step.h"

namespace pinstep {

struct Placement {
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<std::string> messages;  // whole lines for standard error
};

// Never fails: a program starts unbound rather than not at all, and local rank 0 says why.
Placement place_rank(const LaunchOptions& options, const Environment& environment, const StepFacts& facts,
                     Clock& clock);

// The map that these options describe. Errors: usage (no such option value), those of pinstep-map.
Result<NodeMap> dry_run(const LaunchOptions& options, const Environment& environment);

}  // namespace pinstep
