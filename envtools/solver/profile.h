// Profiles: the virtual packages (CEP 30) that the nodes of a partition offer. Never detected on the host
// that locks: a login node is not where the job runs.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep {

// "__glibc=2.28", "__cuda=12.4", "__archspec=1=x86_64": what the environment may count on at a node.
struct VirtualPackage {
  std::string name, version, build;  // build: empty means "0"

  bool operator==(const VirtualPackage&) const = default;
};

// parse(to_string(x)) == x. Errors: invalid.
Result<VirtualPackage> parse_virtual_package(std::string_view text);
std::string to_string(const VirtualPackage& package);

// The built-in profile of a platform: __unix, __linux=4.18, __glibc=2.28, __archspec=1=…; no __cuda.
std::vector<VirtualPackage> baseline_profile(std::string_view platform);

// A profile file: one virtual package per line, '#' comments. Errors: invalid with "PATH:LINE:".
Result<std::vector<VirtualPackage>> parse_profile(std::string_view text, const std::string& path);

inline constexpr std::size_t kProfileSizeLimit = 64 << 10;  // bytes

// `base` with the entries of `over` in place of, or besides, its own; sorted by name.
std::vector<VirtualPackage> overlay(std::vector<VirtualPackage> base, const std::vector<VirtualPackage>& over);

// What stands in a lock: the entries separated by blanks.
std::string format_profile(const std::vector<VirtualPackage>& profile);

// Errors: invalid, listing conda's platforms.
Result<void> check_platform(std::string_view platform);

// "linux-64", "linux-aarch64", …: of the machine this runs on.
std::string native_platform();

}  // namespace pinstep
