// An XML file of hwloc as hwloc 2 can take it. The library trusts its files: it crashes where an object has no
// cpuset, refuses version 3 with an errno that says nothing, and explains itself on standard error. Whatever
// else it stumbles over ends pinstep-map, and the ranks start unbound.
#pragma once

#include <string>
#include <string_view>

#include "envtools/base/error.h"

namespace pinstep {

// Versions 1 and 2 as they are, version 3 rewritten. `name` is the file's, for messages.
// Errors: corrupt, unsupported (a newer version).
Result<std::string> xml_for_hwloc(std::string_view text, const std::string& name);

}  // namespace pinstep
