// The hashes of a requirements file, against what was resolved of it. Pure.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "envtools/base/error.h"
#include "envtools/lock/lock.h"
#include "envtools/spec/requirements.h"

namespace pinstep {

// name → the sha256 that its --hash options allow.
std::map<std::string, std::set<std::string>> allowed_hashes(const std::vector<SpecLine>& lines);

// That each wheel is one that the file allows. Errors: invalid, naming the package.
Result<void> check_allowed(const Lock& lock, const std::vector<SpecLine>& lines, const std::string& path);

}  // namespace pinstep
