// What conda-meta/NAME-VERSION-BUILD.json says of a package besides its files.
#pragma once

#include <vector>

#include "envtools/plan/plan.h"

namespace pinstep {

// The package's own index.json with fn, url, channel, sha256, md5 and size of its artifact as locked. No path
// of this machine is in it.
PlannedPackage planned_package(const CondaSource& source, const std::vector<LockedChannel>& channels);

}  // namespace pinstep
