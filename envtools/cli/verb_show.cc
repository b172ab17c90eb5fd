// pinstep show: what an environment is made of and what it does to a process.
#include <cstdio>

#include "envtools/activation/activation.h"
#include "envtools/base/text.h"
#include "envtools/cli/cli.h"
#include "envtools/cli/environments.h"
#include "envtools/json/json.h"
#include "envtools/pin/pin.h"

namespace pinstep::cli {
namespace {

// clang-format off
constexpr std::string_view kShowUsage =
    R"(usage: pinstep show [--store=DIR] [--json] [ENV]

Shows an environment that is built: id, prefix, lock, packages, variables, and the edits
that activating it makes.

  ENV             an environment file, a lock, the directory of a prefix, a tag, or 4 or
                  more digits of an id; without it environment.yml in this directory or
                  the nearest above

  --store=DIR     look in this store
  --json          print an object

Exit status: 0 shown, 1 there is no such environment, 2 wrong usage.
)";
// clang-format on

struct Shown {
  Located located;
  std::string lock_path;  // empty: not known
  std::vector<LockedPackage> packages;
  std::map<std::string, std::string> variables;
  Activation activation;
};

// The lock that the environment was built from, as the store keeps it.
void add_lock(Shown& shown, const Place& place) {
  if (!shown.located.published) return;
  const auto kept = kept_lock(place, shown.located.published->lock);
  const auto lock = kept ? parse_lock(kept->text, kept->path) : Lock{};
  const auto packages = lock ? lock->packages_for(own_platform()) : tl::unexpected(lock.error());
  if (!packages) return;
  shown.lock_path = kept->path;
  shown.packages = *packages;
  shown.variables = lock->variables;
}

std::string_view manager_name(Manager manager) { return manager == Manager::conda ? "conda" : "pip"; }

void print_text(const Shown& shown) {
  const auto line = [](const char* title, const std::string& text) {
    std::printf("%-10s %s\n", title, printable(text).c_str());
  };
  line("id", std::string(shown.activation.id()));
  if (shown.located.published && !shown.located.published->name.empty())
    line("name", shown.located.published->name);
  line("prefix", shown.located.prefix);
  line("lock", shown.lock_path.empty() ? "-" : shown.lock_path);
  if (!shown.packages.empty()) std::printf("packages\n");
  for (const LockedPackage& package : shown.packages)
    std::printf("  %-24s %-14s %-24s %s\n", printable(package.name).c_str(), printable(package.version).c_str(),
                printable(package.build).c_str(), std::string(manager_name(package.manager)).c_str());
  if (!shown.variables.empty()) std::printf("variables\n");
  for (const auto& [name, value] : shown.variables)
    std::printf("  %s=%s\n", printable(name).c_str(), printable(value).c_str());
  std::printf("activation\n");
  for (const Edit& edit : shown.activation.edits())
    std::printf("  %-8s %s %s\n", std::string(to_string(edit.op)).c_str(), printable(edit.name).c_str(),
                printable(edit.value).c_str());
}

void print_json(const Shown& shown) {
  Json json;
  json["id"] = shown.activation.id();
  json["name"] = shown.located.published ? shown.located.published->name : "";
  json["prefix"] = shown.located.prefix;
  json["lock"] = shown.lock_path.empty() ? Json(nullptr) : Json(shown.lock_path);
  json["packages"] = Json::array();
  for (const LockedPackage& package : shown.packages)
    json["packages"].push_back({{"name", package.name},
                                {"version", package.version},
                                {"build", package.build},
                                {"manager", manager_name(package.manager)},
                                {"sha256", package.sha256}});
  json["variables"] = Json::object();
  for (const auto& [name, value] : shown.variables) json["variables"][name] = value;
  json["activation"] = Json::array();
  for (const Edit& edit : shown.activation.edits()) {
    Json item{{"op", to_string(edit.op)}, {"name", edit.name}};
    if (edit.op != EditOp::unset) item["value"] = edit.value;
    json["activation"].push_back(std::move(item));
  }
  std::printf("%s\n", dump_json(json).c_str());
}

int run_show(const World& world, const Arguments& arguments) {
  const auto parsed = parse(arguments, {{"store", true}, {"json", false}});
  if (!parsed) return report(parsed.error(), wants_json(arguments));
  const bool json = parsed->has("json");
  if (parsed->operands.size() > 1)
    return report({ErrorKind::usage, "show takes one environment", "pinstep show --help"}, json);
  const auto place = load_place(world, parsed->last("store").value_or(""));
  if (!place) return report(place.error(), json);
  const auto env =
      env_of(world, *place, parsed->operands.empty() ? std::nullopt : std::optional(parsed->operands[0]));
  if (!env) return report(env.error(), json);
  auto located = locate(world, *place, *env);
  if (!located) return report(located.error(), json);
  SystemClock clock;
  auto activation = load_activation(located->prefix, place->trust, clock, Clock::Milliseconds{0});
  if (!activation) return report(activation.error(), json);

  Shown shown{std::move(*located), "", {}, {}, std::move(*activation)};
  add_lock(shown, *place);
  if (json)
    print_json(shown);
  else
    print_text(shown);
  return kOk;
}

}  // namespace

const Verb kShow{"show", "show what an environment is made of", kShowUsage, run_show};

}  // namespace pinstep::cli
