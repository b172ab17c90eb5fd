// Where profiles are: NAME.yml in the user's directory and the site's.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"
#include "envtools/profile/profile.h"

namespace pinstep {

inline constexpr const char* kSiteProfiles = "/etc/pinstep/profiles.d";

// The directories to look in, the first found counts: the user's, then the site's. They need not exist.
std::vector<std::string> profile_directories(const Environment& environment);

// "gpu", and not "./gpu" or "gpu.yml", which are paths.
bool is_profile_name(std::string_view text);

struct NamedProfile {
  std::string name;
  std::string path;

  bool operator==(const NamedProfile&) const = default;
};
// All there are, by name; of two with one name the first directory's.
std::vector<NamedProfile> list_profiles(const std::vector<std::string>& directories);

// By name or by path, which is absolute. Errors: not_found, with the names there are; those of read_file() and
// parse_profile().
Result<Profile> load_profile(const std::string& name_or_path, const std::vector<std::string>& directories);

}  // namespace pinstep
