// What the readers of the two formats share.
#pragma once

#include <string>
#include <string_view>

#include "envtools/piplock/piplock.h"
#include "envtools/yaml/yaml.h"

namespace pinstep {

// Where an archive lies: its `url`, else its `path`, from the lock's directory.
std::string archive_url(const YamlNode& archive, const std::string& lock_path);

Result<PipLock> parse_pylock(const YamlNode& root, const std::string& path);
Result<PipLock> parse_uv_lock(const YamlNode& root, const std::string& path);

}  // namespace pinstep
