// For tests only, where the worker is built with PINSTEP_HALTS: a rank stops itself at a place that cannot be
// hit from outside. The product has none of it.
#pragma once

#ifdef PINSTEP_HALTS
#include <csignal>
#include <cstdlib>
#include <map>
#include <string>

namespace pinstep::worker {

// PINSTEP_TEST_HALT="all-reduce 12": stops before the twelfth.
inline void halt_before(const char* operation) {
  static std::map<std::string, int> counts;
  const char* wanted = std::getenv("PINSTEP_TEST_HALT");
  const int count = ++counts[operation];
  if (wanted != nullptr && std::string(operation) + " " + std::to_string(count) == wanted) std::raise(SIGSTOP);
}

}  // namespace pinstep::worker
#endif
