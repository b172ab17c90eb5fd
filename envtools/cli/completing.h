// Explicit lists and old locks may name packages by md5 alone, while an environment's id is made of sha256.
// What such a list stands for is found out once: its packages are fetched, their md5 compared, and the list
// with every sha256 is kept in the store as a lock.
#pragma once

#include <optional>

#include "envtools/cli/choosing.h"
#include "envtools/resolve/solved.h"

namespace pinstep::cli {

// Whether every package has its sha256, but for those that have no content to take it of (version control).
bool is_complete(const Lock& lock);

// What the stores keep for a list that is not complete.
std::optional<KeptLock> find_completed(const Place& place, const Lock& lock);

// What happens to a package of a list that has no hash at all.
enum class Unhashed {
  refused,
  fetched,  // the user trusts the place: what is there now gives its sha256
};

// The lock itself if it is complete, else the completed one. The packages stay in the first store's cache,
// where a build finds them. Says in a line what it waits for. Errors: invalid with "PATH:LINE:" (a package
// without any hash), those of fetching.
Result<ChosenLock> completed(const World& world, const Place& place, ChosenLock lock, Progress& progress,
                             Unhashed unhashed = Unhashed::refused);

}  // namespace pinstep::cli
