// TOML files (version 1.0) as the same tree as YAML's, so that a reader of either says where it is wrong.
#pragma once

#include <string>
#include <string_view>

#include "envtools/yaml/yaml.h"

namespace pinstep {

// Tables are maps, sorted by key; arrays sequences; strings are quoted scalars, numbers, booleans and dates
// plain ones ("true", "12"). An inline table or value that toml++ gives no place has the line of what it is in.
// Errors: invalid with "PATH:LINE: ".
Result<YamlNode> parse_toml(std::string_view text, const std::string& path);

}  // namespace pinstep
