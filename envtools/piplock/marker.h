// Environment markers and version specifiers of Python packages (PEP 508, PEP 440), as locks of others have
// them. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <string_view>

#include "envtools/base/error.h"

namespace pinstep {

// What markers ask about.
struct MarkerEnvironment {
  std::map<std::string, std::string, std::less<>> values;  // "python_version" → "3.12"
  std::set<std::string, std::less<>> extras;               // of `extra == "x"`, and of `"x" in extras`
  std::set<std::string, std::less<>> groups;               // of `"x" in dependency_groups`
};

// CPython of this version ("3.12.4") on Linux; `machine`: x86_64, aarch64.
MarkerEnvironment linux_markers(std::string_view python, std::string_view machine);

// Whether `python_version < "3.9" and sys_platform != "win32"` holds. Errors: invalid.
Result<bool> marker_holds(std::string_view marker, const MarkerEnvironment& environment);

// Whether a version fits ">=3.9,<4"; "" fits all. Errors: invalid.
Result<bool> fits_specifiers(std::string_view version, std::string_view specifiers);

}  // namespace pinstep
