// pinstep diff: what differs between two environments, built or only locked.
#include <cstdio>

#include "envtools/base/text.h"
#include "envtools/cli/cli.h"
#include "envtools/cli/environments.h"
#include "envtools/json/json.h"
#include "envtools/lock/changes.h"
#include "envtools/pin/pin.h"

namespace pinstep::cli {
namespace {

constexpr std::string_view kDiffUsage =
    R"(usage: pinstep diff [--platform=P] [--store=DIR] [--json] ENV [ENV]

Shows which packages and variables differ between two environments, from the first to
the second. Neither has to be built.

  ENV           an environment file, a lock, the directory of a prefix, a tag, or 4 or
                more digits of an id; the second may be left out: then it is
                environment.yml in this directory or the nearest above

  --platform=P  compare what the locks have for this platform; without it this machine's
  --store=DIR   look in this store
  --json        print an object

Lines begin with + (added), - (removed), ↑ (upgraded), ↓ (downgraded), ~ (rebuilt: the
same version, another artifact).

Exit status: 0 compared, 1 it cannot be, 2 wrong usage.
)";

struct Side {
  std::vector<LockedPackage> packages;
  std::map<std::string, std::string> variables;
};

Result<Side> side_of(const World& world, const Place& place, const std::optional<std::string>& text,
                     const std::string& platform) {
  const auto env = env_of(world, place, text);
  if (!env) return tl::unexpected(env.error());
  auto lock = lock_of(world, place, *env);
  if (!lock) return tl::unexpected(lock.error());
  auto packages = lock->packages_for(platform);
  if (!packages) return tl::unexpected(packages.error());
  return Side{std::move(*packages), std::move(lock->variables)};
}

struct VariableChange {
  std::string name;
  std::optional<std::string> before, after;
};

std::vector<VariableChange> variable_changes(const Side& a, const Side& b) {
  std::map<std::string, VariableChange> changes;
  for (const auto& [name, value] : a.variables) changes[name] = {name, value, std::nullopt};
  for (const auto& [name, value] : b.variables) {
    changes[name].name = name;
    changes[name].after = value;
  }
  std::vector<VariableChange> different;
  for (auto& [name, change] : changes)
    if (change.before != change.after) different.push_back(std::move(change));
  return different;
}

void print_text(const std::vector<PackageChange>& packages, const std::vector<VariableChange>& variables) {
  for (const PackageChange& change : packages) std::printf("%s\n", printable(to_line(change)).c_str());
  for (const VariableChange& change : variables) {
    if (change.before) std::printf("- %s=%s\n", change.name.c_str(), printable(*change.before).c_str());
    if (change.after) std::printf("+ %s=%s\n", change.name.c_str(), printable(*change.after).c_str());
  }
  std::string counted = summary(packages);
  if (!variables.empty())
    counted += ", " + std::to_string(variables.size()) + (variables.size() == 1 ? " variable" : " variables");
  std::printf("%s\n", counted.c_str());
}

void print_json(const std::vector<PackageChange>& packages, const std::vector<VariableChange>& variables) {
  Json json;
  json["packages"] = Json::array();
  for (const PackageChange& change : packages) {
    Json item{{"change", to_string(change.kind)},
              {"name", change.name},
              {"manager", change.manager == Manager::conda ? "conda" : "pip"},
              {"platform", change.platform}};
    if (!change.before.empty()) item["before"] = change.before;
    if (!change.after.empty()) item["after"] = change.after;
    json["packages"].push_back(std::move(item));
  }
  json["variables"] = Json::array();
  for (const VariableChange& change : variables) {
    Json item{{"name", change.name}};
    if (change.before) item["before"] = *change.before;
    if (change.after) item["after"] = *change.after;
    json["variables"].push_back(std::move(item));
  }
  std::printf("%s\n", dump_json(json).c_str());
}

int run_diff(const World& world, const Arguments& arguments) {
  const auto parsed = parse(arguments, {{"platform", true}, {"store", true}, {"json", false}});
  if (!parsed) return report(parsed.error(), wants_json(arguments));
  const bool json = parsed->has("json");
  const auto& names = parsed->operands;
  if (names.empty() || names.size() > 2)
    return report({ErrorKind::usage, "diff takes two environments", "pinstep diff --help"}, json);
  const auto place = load_place(world, parsed->last("store").value_or(""));
  if (!place) return report(place.error(), json);
  const std::string platform = parsed->last("platform").value_or(std::string(own_platform()));
  const auto before = side_of(world, *place, names[0], platform);
  if (!before) return report(before.error(), json);
  const auto after =
      side_of(world, *place, names.size() > 1 ? std::optional(names[1]) : std::nullopt, platform);
  if (!after) return report(after.error(), json);
  const auto packages = package_changes(before->packages, after->packages);
  const auto variables = variable_changes(*before, *after);
  json ? print_json(packages, variables) : print_text(packages, variables);
  return kOk;
}

}  // namespace

const Verb kDiff{"diff", "show what differs between two environments", kDiffUsage, run_diff};

}  // namespace pinstep::cli
