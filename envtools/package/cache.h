// A directory in a cache of unpacked archives: complete or absent, whoever is killed when.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "envtools/base/error.h"

namespace pinstep {

// In each such directory, and no part of the package: the sha256 of the archive, and a digest of all names,
// types, sizes and times as they were when it was unpacked.
inline constexpr std::string_view kUnpackedMarker = ".pinstep-unpacked";

// CACHE/NAME-<first 16 digits of sha256>: as it is there, or filled aside and renamed. Several processes may
// do this at once. Errors: invalid (no name for a directory), corrupt (it was changed since, or is of another
// archive), those of `fill`, no_space, os.
Result<std::string> cached(const std::string& cache, const std::string& name, const std::string& sha256,
                           const std::function<Result<void>(const std::string& directory)>& fill);

// Takes a damaged directory out of its cache, for others at once. None there is no error. Errors: os.
Result<void> remove_cached(const std::string& directory);

}  // namespace pinstep
