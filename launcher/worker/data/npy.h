// NumPy's .npy files, version 1.0: any numpy.load reads them.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep::worker {

// Head of a row-major little-endian array; `descr` is NumPy's name of the element type, such as "<f4". What
// follows it in the file are the elements.
std::string npy_head(std::string_view descr, const std::vector<std::size_t>& shape);

// Writes aside, syncs and renames: the file is whole or not there. What a process leaves that is killed
// meanwhile has the name, this, and digits of its own. Errors: refused, no_space, os; then nothing is left.
inline constexpr std::string_view kAside = "+";
Result<void> write_whole(const std::string& path, std::string_view head, std::string_view body);

// Makes the directory where it is missing, and sees that it can be written to: before hours are spent on what
// could not be kept. Errors: not_found (the directory above), refused, os.
Result<void> prepare_directory(const std::string& path);

}  // namespace pinstep::worker
