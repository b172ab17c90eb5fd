// Names and dependency lines as the formats of locks have them.
#pragma once

#include <map>
#include <string>
#include <string_view>

namespace pinstep {

// A name of a Python package: case and the kind of separator mean nothing (PEP 503).
std::string normalized_name(std::string_view name);

// "libgcc-ng >=12" → ("libgcc-ng", ">=12"). Of two entries for one name the versions hold together.
void add_dependency(std::map<std::string, std::string>& dependencies, std::string_view spec);

// Whether the text can be a name in a directory: what becomes part of a path may not lead out of it.
bool is_path_component(std::string_view text);

// "numpy-2.2.1-cp313-cp313-macosx_11_0_arm64.whl" of a URL, its escapes decoded; empty if there is none.
std::string file_name_of(std::string_view url);

}  // namespace pinstep
