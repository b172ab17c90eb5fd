// Running another program. A program to run is data; nothing goes through a shell.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"

namespace pinstep {

// The environment this process was started with, and its replacement. These two functions are the only
// ones in pinstep that touch environ(7).
Environment process_environment();
// Makes the process environment equal to `after`. Not thread-safe, like setenv(3).
void replace_process_environment(const Environment& after);

// The working directory; "" where it was removed.
std::string working_directory();

// The directory this program was started from, by /proc/self/exe; "" where that cannot be read.
std::string own_program_directory();

// A file that only pinstep's programs call: in ../libexec/pinstep of this program's directory, else in
// `installed`.
std::string private_file(std::string_view name, std::string_view installed);

struct Command {
  std::vector<std::string> argv;  // argv[0] is searched on PATH of `environment` unless it has a '/'
  Environment environment;
  std::optional<std::string> input = {};  // run(): its standard input; nothing: ours
  bool collect_errors = false;            // run(): standard error into the result; else it is ours
  std::optional<std::chrono::milliseconds> time_limit = {};  // run(): then SIGTERM, SIGKILL 2 s later
};

struct CommandResult {
  int exit_code = 0;   // of a program that ended by itself
  int signal = 0;      // or the signal that ended it, else 0
  std::string output;  // its standard output, at most `output_limit` bytes
  std::string errors;  // its standard error where that is collected, at most as many
};

// Runs the program, collects its standard output and waits for its end; signals are at their defaults. Errors:
// not_found or refused (cannot be started), corrupt (more output than the limit; the program is then killed),
// timed_out (likewise), os.
Result<CommandResult> run(const Command& command, std::size_t output_limit);

// Likewise, handing the output on piece by piece as it comes. An error of `on_output` ends the program and is
// the result.
using OnOutput = std::function<Result<void>(std::string_view bytes)>;
Result<CommandResult> run(const Command& command, const OnOutput& on_output, std::size_t errors_limit);

// Replaces this process by the program; returns only on failure. The exit code belonging to the error
// follows env(1): see exec_exit_code().
Error exec(const Command& command);

// 127 where the program was not found, 126 where it was and could not be run.
int exec_exit_code(const Error& error);

}  // namespace pinstep
