// The command line of pinstep-worker check.
#pragma once

#include <string>
#include <vector>

#include "launcher/worker/check/judge.h"
#include "launcher/worker/train/session.h"

namespace pinstep::worker {

struct CheckOptions {
  Milliseconds time{30'000};
  Limits limits;
  bool json = false;
  StoreKind store = StoreKind::automatic;
};

extern const char* const kCheckUsage;

// The words after the verb. Errors: usage.
Result<CheckOptions> parse_check_options(const std::vector<std::string>& words);

}  // namespace pinstep::worker
