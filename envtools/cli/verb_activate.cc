// pinstep activate: the activation of this step's environment as shell, for a script whose login shell has
// reset what the plugin had set.
#include <unistd.h>

#include <cctype>
#include <cstdio>

#include "envtools/activation/enter.h"
#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "envtools/base/variables.h"
#include "envtools/cli/cli.h"
#include "envtools/config/files.h"
#include "envtools/pin/pin.h"

namespace pinstep::cli {
namespace {

// clang-format takes the text of a literal with a delimiter for C++.
// clang-format off
constexpr std::string_view kActivateUsage =
    R"help(usage: eval "$(pinstep activate)"
       pinstep activate [--json]

Prints, as shell commands, what is missing in this shell of the environment that
the job was submitted with. Needed where a login shell (#!/bin/bash -l) has reset
PATH in a batch script, and in the batch script on a cluster without the plugin.

  --json          print the edits as a list of objects

Exit status: 0 printed, 1 the job has no environment or it cannot be read, 2 wrong
usage.
)help";
// clang-format on

// A shell can only set what it can name.
bool is_shell_name(std::string_view name) {
  for (const char c : name)
    if (std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '_') return false;
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0;
}

void print_shell(const std::vector<Edit>& edits) {
  for (const Edit& edit : edits) {
    if (!is_shell_name(edit.name)) continue;
    const std::string name(edit.name);
    if (edit.op == EditOp::set)
      std::printf("export %s=%s\n", name.c_str(), shell_quote(edit.value).c_str());
    else
      std::printf("unset %s\n", name.c_str());
  }
}

void print_json(const std::vector<Edit>& edits) {
  std::printf("[");
  const char* separator = "";
  for (const Edit& edit : edits) {
    std::printf("%s{\"op\": %s, \"name\": %s", separator, json_string(to_string(edit.op)).c_str(),
                json_string(edit.name).c_str());
    if (edit.op == EditOp::set) std::printf(", \"value\": %s", json_string(edit.value).c_str());
    std::printf("}");
    separator = ", ";
  }
  std::printf("]\n");
}

int run_activate(const World& world, const Arguments& arguments) {
  const auto parsed = parse(arguments, {{"json", false}});
  if (!parsed) return report(parsed.error(), wants_json(arguments));
  const bool json = parsed->has("json");
  // eval is to fail where this does.
  const auto refuse = [&](const Error& error) {
    if (!json) std::printf("false\n");
    return report(error, json);
  };
  if (!parsed->operands.empty())
    return refuse({ErrorKind::usage, "activate takes no argument", "pinstep activate --help"});
  const auto text = world.environment.get(variable::kPin);
  if (!text || text->empty())
    return refuse({ErrorKind::not_found, "this job was submitted without an environment",
                   "submit it with --env-spec, or without the plugin by 'pinstep sbatch --env-spec=…'"});
  const auto pin = Pin::parse(*text);
  if (!pin) return refuse(pin.error());
  const auto pinned = pin->prefix_for(own_platform());
  if (!pinned) return refuse(pinned.error());
  const auto settings = load_user_settings(world.environment, {});
  if (!settings) return refuse(settings.error());

  SystemClock clock;
  const auto activation = load_activation(pinned->prefix, {::getuid(), settings->settings.trusted_uids}, clock,
                                          Clock::Milliseconds{0});
  if (!activation) return refuse(activation.error());
  const Environment after = enter(world.environment, {*activation, pinned->prefix, pin->policies,
                                                      Arrival::inside, own_program_directory()});
  const std::vector<Edit> edits = diff(world.environment, after);
  if (json)
    print_json(edits);
  else
    print_shell(edits);
  return kOk;
}

}  // namespace

const Verb kActivate{"activate", "print the job's environment as shell commands", kActivateUsage, run_activate};

}  // namespace pinstep::cli
