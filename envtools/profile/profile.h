// Profiles: the virtual packages (CEP 30) that the nodes of a partition offer. Never detected on the host
// that locks: a login node is not where the job runs. Format: FORMAT.md beside this file.
#pragma once

#include <map>
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

using VirtualPackages = std::vector<VirtualPackage>;

struct Profile {
  std::string name;                                  // by which it was asked for; empty: a file, or none
  VirtualPackages everywhere;                        // on every platform
  std::map<std::string, VirtualPackages> platforms;  // linux-64 → …

  bool operator==(const Profile&) const = default;

  // What it says of a platform; sorted by name.
  VirtualPackages packages(std::string_view platform) const;
  // False where it is about other platforms only.
  bool covers(std::string_view platform) const;
};

// Errors: invalid with "PATH:LINE:".
Result<Profile> parse_profile(std::string_view text, const std::string& path);

// parse_profile(write_profile(x, "…")) == x, but for the name, where nothing is in `everywhere`. `comment`: one
// line, or empty.
std::string write_profile(const Profile& profile, std::string_view comment);

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
