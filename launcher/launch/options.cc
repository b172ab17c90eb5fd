#include "launcher/launch/options.h"

#include <string_view>

#include "envtools/base/text.h"

namespace pinstep {

const char* const kLaunchUsage =
    R"(usage: pinstep-launch [--env-spec=PREFIX|none] -- PROGRAM [ARGUMENT]...

Runs PROGRAM as one rank of a Slurm step: in the job's environment and with the
variables by which the ranks find each other (MASTER_ADDR, RANK, WORLD_SIZE, ...).
To be started by srun.

  --env-spec=PREFIX  the environment: a directory with conda-meta/pinstep/activation
  --env-spec=none    no environment, also where the job has one
  --help, --version

Exit status: that of PROGRAM; 125 pinstep-launch itself failed, 126 PROGRAM cannot
be run, 127 it was not found, 2 wrong usage.
)";

Result<LaunchOptions> parse_launch_options(const std::vector<std::string>& arguments) {
  constexpr std::string_view env_spec = "--env-spec";
  LaunchOptions options;
  std::size_t i = 0;
  for (; i < arguments.size() && arguments[i].starts_with('-'); ++i) {
    const std::string_view word = arguments[i];
    if (word == "--") {
      ++i;
      break;
    }
    if (word == "--help" || word == "-h") {
      options.action = LaunchOptions::Action::help;
      return options;
    }
    if (word == "--version") {
      options.action = LaunchOptions::Action::version;
      return options;
    }
    if (word == env_spec && i + 1 == arguments.size())
      return fail(ErrorKind::usage, "option '--env-spec' needs a value");
    if (word == env_spec) {
      options.env_spec = arguments[++i];
    } else if (word.starts_with(env_spec) && word.substr(env_spec.size()).starts_with('=')) {
      options.env_spec = word.substr(env_spec.size() + 1);
    } else {
      const auto near = nearest(word.substr(0, word.find('=')), {env_spec, "--help", "--version"});
      return fail(ErrorKind::usage, "there is no option '" + std::string(word) + "'",
                  near ? "did you mean '" + std::string(*near) + "'?" : "put -- before the program");
    }
  }
  options.program.assign(arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
  if (options.program.empty())
    return fail(ErrorKind::usage, "there is no program to run", "pinstep-launch --help");
  return options;
}

}  // namespace pinstep
