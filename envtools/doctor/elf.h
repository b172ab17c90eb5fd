// A number that a shared object shows, read from its file: nothing of the file is loaded or run.
#pragma once

#include <cstdint>
#include <string_view>

#include "envtools/base/error.h"

namespace pinstep::doctor {

// The four bytes that `symbol` stands for in a 64-bit little-endian shared object. `file` is its content.
// Errors: corrupt (not such a file, or cut off), not_found (no such symbol).
Result<std::uint32_t> elf_number(std::string_view file, std::string_view symbol);

}  // namespace pinstep::doctor
