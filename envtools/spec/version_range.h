// The version part of a match spec (CEP 29): ">=1.8,<2|3.*".
#pragma once

#include <string_view>

namespace pinstep {

// Whether a version is in a range, in the order of versions (lock/version.h). An empty range and "*" take any;
// so does what is no range, since the solver has judged it already.
bool version_fits(std::string_view range, std::string_view version);

}  // namespace pinstep
