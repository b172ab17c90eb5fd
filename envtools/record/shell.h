// One run of a program that nobody vouches for: without a terminal, for a limited time, and nothing that it
// started is left when the run is over, or when the process that asked for it is killed.
#pragma once

#include <string>
#include <vector>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"

namespace pinstep {

// What a program can find out about the place it runs in, besides its environment.
enum class Circumstances {
  usual,
  unusual,  // another umask, limits less by one, one CPU, and where the kernel lets users have a namespace
            // another host name and user id
};

struct ShellRun {
  std::vector<std::string> argv;  // argv[0] is a path
  Environment environment;
  Circumstances circumstances = Circumstances::usual;
  int time_limit = 30;  // seconds
};

// Where the program finds its two answer files open for writing. They have no name that it could spoil.
inline constexpr int kEnvironmentFd = 100;
inline constexpr int kRemarksFd = 101;

struct ShellEnd {
  bool timed_out = false;
  int exit_code = 0;
  int signal = 0;           // or the signal that ended it, else 0
  std::string environment;  // what it wrote, at most `limit` bytes and one more
  std::string remarks;
};

// Standard input is empty, standard output goes to standard error. Errors: os.
Result<ShellEnd> run_shell(const ShellRun& run, std::size_t limit);

}  // namespace pinstep
