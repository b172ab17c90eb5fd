// The command line of pinstep-launch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep {

struct LaunchOptions {
  enum class Action { launch, help, version };

  Action action = Action::launch;
  std::optional<std::string> env_spec;  // a prefix, or "none"
  std::vector<std::string> program;     // never empty for launch
};

extern const char* const kLaunchUsage;

// Options end at "--" or at the first word that is none. Errors: usage.
Result<LaunchOptions> parse_launch_options(const std::vector<std::string>& arguments);

}  // namespace pinstep
