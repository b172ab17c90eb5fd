#include "launcher/launch/map_program.h"

#include <signal.h>
#include <unistd.h>

#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "pinstep_config.h"

namespace pinstep {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;

Result<std::string> map_program() {
  std::string path = private_file("pinstep-map", PINSTEP_LIBEXECDIR);
  if (::access(path.c_str(), X_OK) == 0) return path;
  return fail(ErrorKind::not_found, "this pinstep was built without hwloc");
}

// hwloc's own plugins would start up CUDA, OpenCL and the like in front of every program. They are not even to
// be loaded, with the libraries of those.
Environment quiet_hwloc(Environment environment) {
  environment.unset("LD_LIBRARY_PATH");
  environment.unset("LD_PRELOAD");
  environment.set("HWLOC_COMPONENTS", "-cuda,-opencl,-nvml,-rsmi,-levelzero,-gl,-pci");
  environment.set(
      "HWLOC_PLUGINS_BLACKLIST",
      "hwloc_cuda.so,hwloc_opencl.so,hwloc_nvml.so,hwloc_rsmi.so,hwloc_levelzero.so,hwloc_gl.so,hwloc_pci.so");
  environment.set("HWLOC_HIDE_ERRORS", "2");
  return environment;
}

// "error <kind> <cause> <hint>", as pinstep-map says it too; nothing for another text.
std::optional<Error> parse_failure(std::string_view text) {
  const auto words = split(text.substr(0, text.find('\n')), ' ');
  const auto kind = words.size() == 4 && words[0] == "error" ? parse_error_kind(words[1]) : std::nullopt;
  const auto cause = kind ? percent_decode(words[2]) : std::nullopt;
  const auto hint = kind ? percent_decode(words[3]) : std::nullopt;
  if (!cause || !hint) return std::nullopt;
  return Error{*kind, *cause, *hint};
}

Error failure(const CommandResult& result) {
  if (auto told = parse_failure(result.output)) return *told;
  if (result.signal == SIGALRM)
    return {ErrorKind::timed_out,
            "pinstep-map took longer than " + std::to_string(kMapSeconds) + " s, and was ended", ""};
  const std::string how = result.signal != 0 ? "by signal " + std::to_string(result.signal)
                                             : "with exit code " + std::to_string(result.exit_code);
  return {ErrorKind::os, "pinstep-map ended " + how, ""};
}

}  // namespace

Result<std::string> run_map_program(std::vector<std::string> arguments, const Environment& environment,
                                    std::optional<std::string> input) {
  const auto program = map_program();
  if (!program) return tl::unexpected(program.error());
  arguments.insert(arguments.begin(), *program);
  const auto result = run({std::move(arguments), quiet_hwloc(environment), std::move(input)}, kMostBytes);
  if (!result) return tl::unexpected(result.error());
  if (result->exit_code != 0 || result->signal != 0) return tl::unexpected(failure(*result));
  return result->output;
}

std::string failure_text(const Error& error) {
  return "error " + std::string(to_string(error.kind)) + " " + percent_encode(error.cause, "") + " " +
         percent_encode(error.hint, "") + "\n";
}

Result<NodeMap> understand_map(const std::string& text) {
  if (auto told = parse_failure(text)) return tl::unexpected(std::move(*told));
  return parse_map(text);
}

}  // namespace pinstep
