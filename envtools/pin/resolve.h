// From what a user names (ENV) to a pin: the work of `pinstep resolve`, done at submission as the user.
#pragma once

#include <optional>
#include <string>

#include "envtools/activation/activation.h"
#include "envtools/base/error.h"
#include "envtools/pin/pin.h"

namespace pinstep {

struct ResolveRequest {
  std::string env;        // what the user typed: "none", or a directory with an activation file
  std::string directory;  // absolute; what a relative path starts from; empty: there is none
  Trust trust;
  Policies policies;
  Shape shape = Shape::automatic;
  bool gpu_share = false;
};

// A path that a user typed, absolute, without "." and doubled slashes; there must be something at it. Symbolic
// links stay as they are, since what an automounter shows here may have another real path on a node; only ".."
// makes the real path necessary. Errors: invalid (relative without a directory), not_found, refused.
Result<std::string> existing_path(const std::string& text, const std::string& directory);

// The pin, or nothing for `none`. Opens the prefix once to see that it is usable here and now. Errors:
// invalid (not a path, or something that cannot be an environment), and those of load_activation().
Result<std::optional<Pin>> resolve(const ResolveRequest& request);

}  // namespace pinstep
