#include "envtools/base/standard_output.h"

#include <cerrno>
#include <cstdio>
#include <cstring>

namespace pinstep {

int end_output(const char* program, int code, int failed) {
  if (std::fflush(stdout) == 0 && std::ferror(stdout) == 0) return code;
  std::fprintf(stderr, "%s: error: cannot write to standard output: %s\n", program, std::strerror(errno));
  return failed;
}

}  // namespace pinstep
