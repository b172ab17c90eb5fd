// Giving this rank its place: finding the map of the node, binding to it, and the variables that tell the
// program.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "envtools/base/clock.h"
#include "envtools/base/environment.h"
#include "envtools/pin/pin.h"
#include "launcher/launch/options.h"
#include "launcher/mapfile/node_map.h"
#include "launcher/step/step.h"

namespace pinstep {

struct Placement {
  std::vector<std::pair<std::string, std::string>> variables;
  std::vector<Error> problems;        // why the rank has not the place it should
  std::vector<std::string> messages;  // whole lines for standard error
  std::optional<NodeMap> map;         // of the node, for verify
};

// Never fails: a program starts unbound rather than not at all, unless the caller makes a problem an error.
Placement place_rank(const LaunchOptions& options, const Environment& environment, const StepFacts& facts,
                     Program program, Clock& clock);

}  // namespace pinstep
