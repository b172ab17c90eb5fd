// Which wheels a Python takes, by their file names (PEP 425, PEP 600, PEP 656). Pure.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "envtools/base/error.h"

namespace pinstep {

// CPython on Linux.
struct PythonTarget {
  std::string version;  // "3.12.4"
  std::string machine;  // x86_64, aarch64
  std::string glibc;    // "2.28"
};

class WheelTags {
 public:
  // Errors: invalid (no version of Python 3, no version of glibc 2).
  static Result<WheelTags> of(const PythonTarget& target);

  // The place of a wheel among those that fit, the best 0; nothing for one that does not fit or is no wheel.
  std::optional<std::size_t> rank(std::string_view file_name) const;

 private:
  std::map<std::string, std::size_t, std::less<>> ranks_;  // "cp312-abi3-manylinux_2_17_x86_64" → place
};

}  // namespace pinstep
