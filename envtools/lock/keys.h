// What pinstep adds to conda-lock's format: keys of metadata.custom_metadata. FORMAT.md describes them.
#pragma once

#include <string>
#include <string_view>

#include "envtools/lock/lock.h"

namespace pinstep {

inline constexpr std::string_view kVariableKey = "pinstep.variable.";  // and the variable's name
inline constexpr std::string_view kChannelKey = "pinstep.channel.";    // and the channel's name
inline constexpr std::string_view kProfileKey = "pinstep.profile.";    // and the platform
inline constexpr std::string_view kSizesKey = "pinstep.sizes";

// What a package's size is listed under: the first 16 digits of its digest; empty if it has none.
inline std::string size_key(const LockedPackage& package) {
  return (package.sha256.empty() ? package.md5 : package.sha256).substr(0, 16);
}

}  // namespace pinstep
