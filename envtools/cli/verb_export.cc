// pinstep export: a lock in the formats of other programs.
#include <cstdio>

#include "envtools/base/text.h"
#include "envtools/cli/cli.h"
#include "envtools/cli/environments.h"
#include "envtools/lock/export.h"
#include "envtools/pin/pin.h"
#include "envtools/spec/spec.h"

namespace pinstep::cli {
namespace {

constexpr std::string_view kExportUsage =
    R"(usage: pinstep export [--format=FORMAT] [--platform=P] [--store=DIR] [ENV]

Prints what an environment is made of, for another program. It need not be built.

  ENV              an environment file, a lock, the directory of a prefix, a tag, or 4 or
                   more digits of an id; without it environment.yml in this directory or
                   the nearest above

  --format=FORMAT  explicit      a list of URLs for conda and micromamba (the default)
                   conda-lock    a lock, for all its platforms
                   environment   an environment.yml that names versions and builds
                   requirements  pip's packages, for pip and uv
                   pixi          a pixi.lock, for all platforms
  --platform=P     what the lock has for this platform; without it this machine's
  --store=DIR      look in this store

Exit status: 0 printed, 1 it cannot be, 2 wrong usage.
)";

// What its spec calls it.
std::string name_of(const NamedEnv& env) {
  if (env.published) return env.published->name;
  if (env.kind != NamedEnv::Kind::spec) return {};
  const auto spec = load_spec(env.path);
  return spec ? spec->name : std::string();
}

Result<int> print_exported(const World& world, const Parsed& parsed) {
  if (parsed.operands.size() > 1)
    return fail(ErrorKind::usage, "export takes one environment", "pinstep export --help");
  const auto format = parse_export_format(parsed.last("format").value_or("explicit"));
  if (!format) return tl::unexpected(format.error());
  const auto place = load_place(world, parsed.last("store").value_or(""));
  if (!place) return tl::unexpected(place.error());
  const auto env =
      env_of(world, *place, parsed.operands.empty() ? std::nullopt : std::optional(parsed.operands[0]));
  if (!env) return tl::unexpected(env.error());
  const auto lock = lock_of(world, *place, *env);
  if (!lock) return tl::unexpected(lock.error());
  const auto exported =
      export_lock(*lock, *format, parsed.last("platform").value_or(std::string(own_platform())), name_of(*env));
  if (!exported) return tl::unexpected(exported.error());
  std::fwrite(exported->text.data(), 1, exported->text.size(), stdout);
  for (const std::string& note : exported->notes) std::fprintf(stderr, "pinstep: note: %s\n", note.c_str());
  return kOk;
}

int run_export(const World& world, const Arguments& arguments) {
  const auto parsed = parse(arguments, {{"format", true}, {"platform", true}, {"store", true}});
  if (!parsed) return report(parsed.error(), false);
  const auto code = print_exported(world, *parsed);
  return code ? *code : report(code.error(), false);
}

}  // namespace

const Verb kExport{"export", "print an environment for another program", kExportUsage, run_export};

}  // namespace pinstep::cli
