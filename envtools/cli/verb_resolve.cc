// pinstep resolve: what the plugin calls at submission, and what a submitter without the plugin uses.
#include <unistd.h>

#include <cstdio>

#include "envtools/base/text.h"
#include "envtools/base/variables.h"
#include "envtools/cli/cli.h"
#include "envtools/config/files.h"
#include "envtools/pin/resolve.h"

namespace pinstep::cli {
namespace {

constexpr std::string_view kResolveUsage =
    R"(usage: pinstep resolve [--export | --json] [--shape=SHAPE] [--gpu-share] PREFIX|none

Prints the pin of an environment: the text that travels with a job.

  PREFIX          a directory with conda-meta/pinstep/activation; a relative path
                  needs a '/' in it, such as ./env
  none            no environment: prints an empty line

  --export        print a shell command that sets the variable for sbatch, srun
                  and other submitters that have no pinstep plugin
  --json          print an object
  --shape=SHAPE   how ranks are started: auto (default), rank, torchrun, spawn, none
  --gpu-share     let the ranks of a node reach each other's GPUs (batch jobs)
  --site=KEY=VALUE  a setting of the site's plugstack.conf line (the plugin's use)

Exit status: 0 resolved, 1 cannot be resolved, 2 wrong usage.
)";

void print_export(const std::optional<Pin>& pin) {
  const std::string name(variable::kPin);
  if (pin)
    std::printf("export %s=%s\n", name.c_str(), shell_quote(pin->text()).c_str());
  else
    std::printf("unset %s\n", name.c_str());
}

void print_json(const std::optional<Pin>& pin) {
  if (!pin) {
    std::printf("{\"pin\": null}\n");
    return;
  }
  const PinnedPrefix& entry = pin->prefixes.front();
  std::printf("{\"pin\": %s, \"pinned\": %s, \"platform\": %s, \"id\": %s, \"prefix\": %s}\n",
              json_string(pin->text()).c_str(), pin->kind == Pin::Kind::store ? "true" : "false",
              json_string(entry.platform).c_str(), json_string(entry.id).c_str(),
              json_string(entry.prefix).c_str());
}

// What eval is to do after an error: fail, and not leave the pin of an environment that was not meant.
int fail_export(const Error& error) {
  std::printf("unset %s; false\n", std::string(variable::kPin).c_str());
  return report(error, false);
}

int run_resolve(const World& world, const Arguments& arguments) {
  const auto parsed = parse(
      arguments, {{"export", false}, {"json", false}, {"gpu-share", false}, {"shape", true}, {"site", true}});
  if (!parsed) return report(parsed.error(), wants_json(arguments));
  const bool json = parsed->has("json");
  const auto refuse = [&](const Error& error) {
    return parsed->has("export") && !json ? fail_export(error) : report(error, json);
  };
  if (parsed->operands.size() != 1)
    return refuse({ErrorKind::usage, "resolve takes one environment", "pinstep resolve --help"});
  if (json && parsed->has("export"))
    return refuse({ErrorKind::usage, "--json and --export exclude each other", ""});

  const std::string shape_name = parsed->last("shape").value_or("auto");
  const auto shape = parse_shape(shape_name);
  if (!shape)
    return refuse({ErrorKind::usage, "there is no shape '" + shape_name + "'",
                   "it is auto, rank, torchrun, spawn or none"});
  const auto settings = load_user_settings(world.environment, parsed->all("site"));
  if (!settings) return refuse(settings.error());

  ResolveRequest request;
  request.env = parsed->operands[0];
  request.directory = world.directory;
  request.trust = {::getuid(), settings->settings.trusted_uids};
  request.policies = settings->settings.policies;
  request.shape = *shape;
  request.gpu_share = parsed->has("gpu-share");
  const auto pin = resolve(request);
  if (!pin) return refuse(pin.error());

  if (parsed->has("export"))
    print_export(*pin);
  else if (json)
    print_json(*pin);
  else
    std::printf("%s\n", *pin ? (*pin)->text().c_str() : "");
  return kOk;
}

}  // namespace

const Verb kResolve{"resolve", "print the pin of an environment, for submitters", kResolveUsage, run_resolve};

}  // namespace pinstep::cli
