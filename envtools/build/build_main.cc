// pinstep-build: makes a prefix from a lock; called by pinstep only. Contract: build.h.
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <iterator>
#include <string>

#include "envtools/base/process.h"
#include "envtools/base/without_exceptions.h"
#include "envtools/build/build.h"

int main() {
  using namespace pinstep;
  // Whoever asked for the build and was killed does not want it any more.
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  const std::string text{std::istreambuf_iterator<char>(std::cin), {}};
  const auto job = parse_build_job(text);
  const auto result = job ? without_exceptions([&] { return build_prefix(*job, process_environment()); })
                          : tl::unexpected(job.error());
  const std::string answer = format_build_result(result);
  std::fwrite(answer.data(), 1, answer.size(), stdout);
  return std::fflush(stdout) == 0 && result ? 0 : 1;
}
