// pinstep: prepares, inspects and activates pinned environments. See cli.h for how verbs are added.
#include <unistd.h>

#include <array>
#include <cstdio>

#include "envtools/base/process.h"
#include "envtools/base/standard_output.h"
#include "envtools/base/text.h"
#include "envtools/base/without_exceptions.h"
#include "envtools/cli/cli.h"
#include "pinstep_config.h"

namespace pinstep::cli {
namespace {

constexpr std::array<const Verb*, 22> kVerbs{
    &kSetup, &kInit,   &kLock, &kLint,  &kAdd, &kRemove, &kProfile, &kBuild, &kRun,      &kList,   &kShow,
    &kDiff,  &kExport, &kTag,  &kUntag, &kGc,  &kSbatch, &kSalloc,  &kSrun,  &kActivate, &kDoctor, &kResolve};

const Verb* find_verb(std::string_view name) {
  for (const Verb* verb : kVerbs)
    if (verb->name == name) return verb;
  return nullptr;
}

void print_help() {
  std::printf("usage: pinstep VERB [OPTION]... [ARGUMENT]...\n       pinstep --version\n\nverbs:\n");
  for (const Verb* verb : kVerbs)
    std::printf("  %-10.*s %.*s\n", static_cast<int>(verb->name.size()), verb->name.data(),
                static_cast<int>(verb->summary.size()), verb->summary.data());
  std::printf("\n'pinstep VERB --help' tells more; so does pinstep(1).\n");
}

int unknown_verb(std::string_view name) {
  std::vector<std::string_view> names;
  for (const Verb* verb : kVerbs) names.push_back(verb->name);
  const auto near = nearest(name, names);
  return report({ErrorKind::usage, "there is no verb '" + std::string(name) + "'",
                 near ? "did you mean 'pinstep " + std::string(*near) + "'?" : "'pinstep --help' lists them"},
                false);
}

bool asks_for_help(const Arguments& arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") return false;
    if (argument == "--help" || argument == "-h") return true;
  }
  return false;
}

int run(const Arguments& arguments) {
  if (arguments.empty()) {
    print_help();
    return kUsage;
  }
  const std::string& name = arguments[0];
  if (name == "--help" || name == "-h" || name == "help") {
    print_help();
    return kOk;
  }
  if (name == "--version") {
    std::printf("pinstep %s\n", PINSTEP_VERSION);
    return kOk;
  }
  const Verb* verb = find_verb(name);
  if (verb == nullptr) return unknown_verb(name);
  const Arguments rest(arguments.begin() + 1, arguments.end());
  if (asks_for_help(verb->hands_on && !rest.empty() ? Arguments{rest[0]} : rest)) {
    std::fwrite(verb->usage.data(), 1, verb->usage.size(), stdout);
    return kOk;
  }
  return verb->run({process_environment(), working_directory()}, rest);
}

}  // namespace
}  // namespace pinstep::cli

int main(int argc, char** argv) {
  using namespace pinstep;
  const auto done = without_exceptions([&]() -> Result<int> { return cli::run({argv + 1, argv + argc}); });
  const int code = done ? *done : cli::report(done.error(), false);
  return end_output("pinstep", code, cli::kFailed);
}
