// Adds and removes lines of a spec in its text: comments, order and quoting of all else stay. Pure.
//
// Where the line goes is found in the text, block style only ("- numpy", a package a line); the result is read
// back, and is an error rather than a file that means anything but what was asked for.
#pragma once

#include <string>
#include <string_view>

#include "envtools/base/error.h"

namespace pinstep {

enum class Section { conda, pip };

// With `wanted` ("numpy>=2") as a line of its section; the line of a package of the same name is replaced. pip's
// list is made where there is none, and with it the line 'pip'. Errors: invalid (what parse_spec() finds),
// unsupported (a list that cannot be edited).
Result<std::string> add_to_spec(std::string_view text, const std::string& path, Section section,
                                std::string_view wanted);

// Without the lines of a package. Errors: as above; not_found.
Result<std::string> remove_from_spec(std::string_view text, const std::string& path, Section section,
                                     std::string_view name);

}  // namespace pinstep
