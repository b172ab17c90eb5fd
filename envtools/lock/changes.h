// What differs between two locks, or between the same lock's environments on two platforms. Pure.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "envtools/lock/lock.h"

namespace pinstep {

struct PackageChange {
  enum class Kind {
    added,
    removed,
    upgraded,
    downgraded,
    rebuilt
  };  // rebuilt: the same version, another artifact

  Kind kind = Kind::added;
  Manager manager = Manager::conda;
  std::string name;
  std::string platform;
  std::string before, after;  // versions; with the build where it is rebuilt. Empty where there is none

  bool operator==(const PackageChange&) const = default;
};

std::string_view to_string(PackageChange::Kind kind);  // "added"

// Sorted by name, manager and platform.
std::vector<PackageChange> package_changes(const std::vector<LockedPackage>& before,
                                           const std::vector<LockedPackage>& after);

// "+ xz 5.2.6 (linux-64)", "- …", "↑ xz 5.2.5 → 5.2.6 (linux-64)", "↓ …", "~ …": rebuilt.
std::string to_line(const PackageChange& change);

// "1 upgraded, 2 added"; "no package changed".
std::string summary(const std::vector<PackageChange>& changes);

}  // namespace pinstep
