// What one node offers: read once at the edge, judged as a value.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"
#include "envtools/lock/lock.h"
#include "envtools/profile/cuda_driver.h"
#include "envtools/profile/profile.h"

namespace pinstep {

struct NodeFacts {
  std::string host;
  std::string machine;  // "x86_64"
  std::string kernel;   // "5.14.0-503.el9.x86_64"
  std::string glibc;    // "2.34"
  std::string cpu;      // text of /proc/cpuinfo
  std::optional<CudaDriver> driver;
};

// Errors: os (a driver that is there and does not answer: a profile without it would be wrong).
Result<NodeFacts> read_node(const std::string& management_library = kManagementLibrary);

// "x86_64_v3" of a machine and its /proc/cpuinfo, by the x86-64 psABI; "x86_64" for the first level, and other
// machines' name as it is.
std::string microarchitecture(std::string_view machine, std::string_view cpu);

// The profile of nodes like this one, for its own platform alone.
Profile profile_of(const NodeFacts& node);

// What the locked packages of a platform ask of a node that it does not have, a clause each, such as "pytorch
// needs
// __cuda >=12, and there is 11.8"; for one virtual package the first that asks for more. Empty: the node will
// do.
std::vector<std::string> shortcomings(const std::vector<LockedPackage>& packages, const VirtualPackages& node);

}  // namespace pinstep
