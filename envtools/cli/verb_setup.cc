// pinstep setup: makes the private venv of the solver. The one verb that installs something.
#include <cstdio>

#include "envtools/cli/cli.h"
#include "envtools/cli/progress.h"
#include "envtools/config/files.h"
#include "envtools/json/json.h"
#include "envtools/solver/setup.h"

namespace pinstep::cli {
namespace {

constexpr std::string_view kSetupUsage =
    R"(usage: pinstep setup [--from=DIR] [--dir=DIR] [--json]
       pinstep setup --download=DIR [--json]

Installs the solver that turns a spec into a lock: py-rattler and uv, pinned by
digest, in a venv of their own. It is needed once per user, or once per site.

  --from=DIR      take the wheels from this directory, without a network
  --dir=DIR       make it here instead of in ~/.local/state/pinstep/solver; the
                  setting solver=DIR then lets everybody use it
  --download=DIR  only fetch the wheels into this directory, for --from
  --json          print an object

Exit status: 0 there, 1 cannot be made, 2 wrong usage.
)";

Result<SetupRequest> request_of(const World& world, const Parsed& parsed) {
  SetupRequest request;
  request.requirements = private_file("solver/requirements.txt");
  if (const auto wheels = parsed.last("from")) request.wheels = absolute(*wheels, world.directory);
  if (const auto directory = parsed.last("dir")) {
    request.directory = absolute(*directory, world.directory);
    return request;
  }
  auto own = default_solver_directory(world.environment);
  if (!own) return tl::unexpected(own.error());
  request.directory = *own;
  return request;
}

int run_download(const World& world, const std::string& directory, bool json) {
  Progress progress;
  const auto done = download_wheels(world.environment, private_file("solver/requirements.txt"), directory,
                                    [&](const std::string& text) { progress.show(text); });
  progress.clear();
  if (!done) return report(done.error(), json);
  if (json)
    std::printf("%s\n", dump_json(Json{{"directory", directory}}).c_str());
  else
    std::printf("the solver's wheels are in %s\n", directory.c_str());
  return kOk;
}

int run_setup(const World& world, const Arguments& arguments) {
  const auto parsed = parse(arguments, {{"from", true}, {"dir", true}, {"download", true}, {"json", false}});
  if (!parsed) return report(parsed.error(), wants_json(arguments));
  const bool json = parsed->has("json");
  if (!parsed->operands.empty())
    return report({ErrorKind::usage, "setup takes no operands", "pinstep setup --help"}, json);
  if (const auto directory = parsed->last("download")) {
    if (parsed->has("from") || parsed->has("dir"))
      return report({ErrorKind::usage, "--download goes with neither --from nor --dir", ""}, json);
    return run_download(world, absolute(*directory, world.directory), json);
  }
  auto request = request_of(world, *parsed);
  if (!request) return report(request.error(), json);

  Progress progress;
  request->progress = [&](const std::string& text) { progress.show(text); };
  const auto done = set_up_solver(world.environment, *request);
  progress.clear();
  if (!done) return report(done.error(), json);
  if (json)
    std::printf("%s\n", dump_json(Json{{"directory", request->directory}, {"made", done->made}}).c_str());
  else
    std::printf("the solver %s in %s\n", done->made ? "is now" : "is there already,",
                request->directory.c_str());
  return kOk;
}

}  // namespace

const Verb kSetup{"setup", "install the solver that locking needs", kSetupUsage, run_setup};

}  // namespace pinstep::cli
