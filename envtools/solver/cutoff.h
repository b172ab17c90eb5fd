// The time up to which packages count (--exclude-newer), so that a spec can be solved as of some day.
#pragma once

#include <string>
#include <string_view>

#include "envtools/base/error.h"

namespace pinstep {

// "2026-03-31", a whole day in UTC, or "2026-03-31T12:00:00Z", as the instant up to which packages count:
// "2026-04-01T00:00:00Z" and "2026-03-31T12:00:00Z". parse_cutoff() of the result is the result.
// Errors: usage.
Result<std::string> parse_cutoff(std::string_view text);

}  // namespace pinstep
