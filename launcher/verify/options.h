// The command line of pinstep-verify: what pinstep-launch knows of the rank's map, then what the user said.
#pragma once

#include <chrono>
#include <string>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep::verify {

struct Options {
  // Of the map; "-" where there is none. By pinstep-launch.
  std::string map = "-";
  std::string gpus = "-";
  std::string nics = "-";
  std::vector<std::string> uuids;
  // By the user.
  bool json = false;
  std::chrono::seconds timeout{60};
};

// Errors: usage.
Result<Options> parse_options(const std::vector<std::string>& arguments);

}  // namespace pinstep::verify
