// The directory of real packages, locks and topologies that tests use where there is one.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

namespace pinstep::testing_support {

// Where PINSTEP_TESTDATA says; "" where there is none: then a test is skipped, "no test data: …".
inline std::string testdata(const std::string& below) {
  const char* directory = std::getenv("PINSTEP_TESTDATA");
  if (directory == nullptr) return {};
  const std::string path = std::string(directory) + "/" + below;
  return std::filesystem::exists(path) ? path : std::string();
}

}  // namespace pinstep::testing_support
