// pinstep run: a program in an environment, in place of this process.
#include <cstdio>

#include "envtools/activation/enter.h"
#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "envtools/base/variables.h"
#include "envtools/cli/cli.h"
#include "envtools/cli/environments.h"
#include "envtools/pin/use.h"

namespace pinstep::cli {
namespace {

// clang-format off
constexpr std::string_view kRunUsage =
    R"(usage: pinstep run [-e ENV] [--store=DIR] [--] PROGRAM [ARGUMENT]...

Runs a program in an environment that is built. It takes the place of pinstep: no
process stays in between.

  -e ENV, --env=ENV  an environment file, a lock, the directory of a prefix, a tag, or
                     4 or more digits of an id; without it environment.yml in this
                     directory or the nearest above
  --store=DIR        look in this store

Exit status: that of PROGRAM; 125 pinstep itself failed, 126 PROGRAM cannot be run,
127 it is not found, 2 wrong usage.
)";
// clang-format on

constexpr int kOwnFailure = 125;

// Options end at the first word that is none: what follows is the program's.
struct Words {
  Arguments own, command;
};
Words split_at_program(const Arguments& arguments) {
  std::size_t i = 0;
  while (i < arguments.size() && arguments[i].starts_with("-") && arguments[i] != "--")
    i += arguments[i] == "-e" || arguments[i] == "--env" || arguments[i] == "--store" ? 2 : 1;
  i = std::min(i, arguments.size());
  const auto middle = arguments.begin() + static_cast<std::ptrdiff_t>(i);
  const bool dashes = i < arguments.size() && arguments[i] == "--";
  return {{arguments.begin(), middle}, {middle + (dashes ? 1 : 0), arguments.end()}};
}

Result<Environment> entered(const World& world, const Place& place, const std::string& prefix) {
  SystemClock clock;
  const auto activation = load_activation(prefix, place.trust, clock, Clock::Milliseconds{0});
  if (!activation) return tl::unexpected(activation.error());
  const bool inside = world.environment.has(variable::kStepPrefix);
  return enter(world.environment, {*activation, prefix, place.settings.policies,
                                   inside ? Arrival::inside : Arrival::entry, own_program_directory()});
}

int run_run(const World& world, const Arguments& arguments) {
  const Words words = split_at_program(arguments);
  const auto parsed = parse(words.own, {{"env", true, 'e'}, {"store", true}});
  if (!parsed) return report(parsed.error(), false);
  if (words.command.empty())
    return report({ErrorKind::usage, "run needs a program", "pinstep run --help"}, false);
  const auto fail_with = [](const Error& error) {
    report(error, false);
    return kOwnFailure;
  };
  const auto place = load_place(world, parsed->last("store").value_or(""));
  if (!place) return fail_with(place.error());
  const auto env = env_of(world, *place, parsed->last("env"));
  if (!env) return fail_with(env.error());
  Environment environment = world.environment;
  if (env->kind == NamedEnv::Kind::none) {
    environment = without_leftovers(world.environment);
  } else {
    const auto located = locate(world, *place, *env);
    if (!located) return fail_with(located.error());
    // As with submissions: first the note, then the look.
    if (located->published)
      note_use(store_of(*located->published).directory(),
               {.id16 = short_id(located->published->id), .kind = Use::Kind::run, .user = ::getuid()});
    auto inside = entered(world, *place, located->prefix);
    if (!inside) return fail_with(inside.error());
    environment = std::move(*inside);
  }
  const Error error = exec({words.command, environment});
  report(error, false);
  return exec_exit_code(error);
}

}  // namespace

const Verb kRun{"run", "run a program in an environment", kRunUsage, run_run, true};

}  // namespace pinstep::cli
