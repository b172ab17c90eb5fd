// What the readers of lock formats share.
#pragma once

#include <string>
#include <string_view>

#include "envtools/base/error.h"
#include "envtools/lock/lock.h"

namespace pinstep {

// The directory of a conda URL that has the archive, "linux-64"; empty if there is none.
std::string_view subdir_of(std::string_view url);

// The URL of the channel that a conda package's URL lies in; empty if it is no such URL.
std::string_view channel_url_of(std::string_view url);

Result<Lock> parse_explicit(std::string_view text, const std::string& path);
Result<Lock> parse_conda_lock(std::string_view text, const std::string& path);
Result<Lock> parse_pixi(std::string_view text, const std::string& path, std::string_view part);

}  // namespace pinstep
