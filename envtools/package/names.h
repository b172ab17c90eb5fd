// What of a package becomes part of a path, and when that is safe.
#pragma once

#include <string_view>

namespace pinstep {

// A name, version or build: letters, digits and "_.-+!", not beginning with '.', at most 128 bytes.
bool is_safe_part(std::string_view part);

// A path below some directory: not absolute, no part that is empty, "." or "..", no NUL.
bool is_inner_path(std::string_view path);

// A command in bin/: one part, no blank or control character, not hidden.
bool is_command_name(std::string_view name);

// "package.module": identifiers of ASCII letters, digits and '_' between dots.
bool is_identifier_chain(std::string_view text);

}  // namespace pinstep
