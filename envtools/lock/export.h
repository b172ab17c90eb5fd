// A lock in the formats of other programs. Pure and deterministic.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "envtools/lock/lock.h"

namespace pinstep {

enum class ExportFormat {
  explicit_list,  // @EXPLICIT (CEP 23), with sha256, dependencies first; conda's packages only
  conda_lock,     // the lock itself, all platforms
  environment,    // an environment.yml that names each version and build
  requirements,   // a requirements file with hashes; pip's packages only
  pixi,           // a pixi.lock of version 6 with the environment `default`, all platforms
};

// "explicit", "conda-lock", "environment", "requirements", "pixi". Errors: usage, naming the nearest.
Result<ExportFormat> parse_export_format(std::string_view name);

struct Exported {
  std::string text;
  std::vector<std::string> notes;  // what the format has no place for
};

// `name`: of the environment, may be empty. Errors: invalid (a platform that the lock does not have; a package
// without a hash where the format needs one).
Result<Exported> export_lock(const Lock& lock, ExportFormat format, std::string_view platform,
                             std::string_view name = {});

}  // namespace pinstep
