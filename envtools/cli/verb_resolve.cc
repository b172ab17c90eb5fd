// pinstep resolve: what the plugin calls at submission, and what a submitter without the plugin uses.
#include <cstdio>

#include "envtools/base/text.h"
#include "envtools/base/variables.h"
#include "envtools/cli/cli.h"
#include "envtools/cli/resolving.h"

namespace pinstep::cli {
namespace {

constexpr std::string_view kResolveUsage =
    R"(usage: pinstep resolve [--export | --json] [--lock=POLICY] [--build=WHEN]
                       [--shape=SHAPE] [--gpu-share] [ENV|none]

Prints the pin of an environment: the text that travels with a job. Solves a spec
that has no lock and builds a prefix that is not there, as far as it may.

  ENV             an environment file, a lock, a prefix, or 4 or more digits of an
                  id; without it environment.yml here or in the nearest directory above
  none            no environment: prints an empty line, or with a SHAPE the pin of
                  a job whose steps get a rendezvous only

  --export        print a shell command that sets the variable for sbatch, srun
                  and other submitters that have no pinstep plugin
  --json          print an object
  --lock=POLICY   auto (default), frozen (never solve) or update (solve anew)
  --build=WHEN    submit (default: now), job (in the batch step) or never
  --shape=SHAPE   how ranks are started: auto (default), rank, torchrun, spawn, none
  --gpu-share     let the ranks of a node reach each other's GPUs (batch jobs)
  --no-batch-step  no batch script follows in which to build (the plugin's use)
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
  if (pin->kind == Pin::Kind::none) {
    std::printf("{\"pin\": %s, \"pinned\": false}\n", json_string(pin->text()).c_str());
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
  const auto parsed = parse(arguments, {{"export", false},
                                        {"json", false},
                                        {"lock", true},
                                        {"build", true},
                                        {"gpu-share", false},
                                        {"no-batch-step", false},
                                        {"shape", true},
                                        {"site", true}});
  if (!parsed) return report(parsed.error(), wants_json(arguments));
  const bool json = parsed->has("json");
  const auto refuse = [&](const Error& error) {
    return parsed->has("export") && !json ? fail_export(error) : report(error, json);
  };
  if (parsed->operands.size() > 1)
    return refuse({ErrorKind::usage, "resolve takes one environment", "pinstep resolve --help"});
  if (json && parsed->has("export"))
    return refuse({ErrorKind::usage, "--json and --export exclude each other", ""});

  ResolveWords words;
  words.upward = parsed->operands.empty();
  if (!words.upward) words.env = parsed->operands[0];
  words.site = parsed->all("site");
  words.lock = parsed->last("lock");
  words.build = parsed->last("build");
  words.shape = parsed->last("shape");
  words.gpu_share = parsed->has("gpu-share");
  words.batch_step = !parsed->has("no-batch-step");
  const auto pin = resolve_words(world, words);
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
