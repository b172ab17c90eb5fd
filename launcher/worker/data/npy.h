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
// meanwhile has the name with this ending. Errors: refused, no_space, os; then nothing is left.
inline constexpr std::string_view kAside = "+";
Result<void> write_whole(const std::string& path, std::string_view head, std::string_view body);

}  // namespace pinstep::worker
