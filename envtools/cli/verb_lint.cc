// pinstep lint: what in a spec is legal and yet hardly what was meant.
#include <algorithm>
#include <chrono>
#include <cstdio>

#include "envtools/base/text.h"
#include "envtools/cli/cli.h"
#include "envtools/cli/environments.h"
#include "envtools/cli/locking.h"
#include "envtools/json/json.h"
#include "envtools/lint/lint.h"
#include "envtools/pin/pin.h"

namespace pinstep::cli {
namespace {

constexpr std::string_view kLintUsage =
    R"(usage: pinstep lint [--profile=PROFILE] [--virtual-package=V]... [--ignore=RULE]...
                    [--rules] [--json] [SPEC]

Says what in a spec is legal and yet hardly what was meant, with the line and what to
write instead. Nothing is solved and nothing is fetched.

  SPEC            the environment.yml; without it the nearest upward from here

  --profile=PROFILE  what the nodes offer: a name or a file; without it what the lock was
                  solved for, the setting 'profile', or the baseline
  --virtual-package=V  one of them, such as __cuda=12.4; may be repeated
  --ignore=RULE   leave this rule out; may be repeated
  --rules         list the rules
  --json          print an object

The setting lint_ignore names rules to leave out always, separated by commas.

Exit status: 0 nothing found, 1 something, or the spec cannot be read, 2 wrong usage.
)";

std::chrono::year_month this_month() {
  const std::chrono::year_month_day today{
      std::chrono::floor<std::chrono::days>(std::chrono::system_clock::now())};
  return today.year() / today.month();
}

void print_rules(bool json) {
  Json list = Json::array();
  for (const LintRule& rule : lint_rules()) {
    if (json)
      list.push_back({{"rule", rule.name}, {"meaning", rule.meaning}});
    else
      std::printf("%-18s %s\n", std::string(rule.name).c_str(), std::string(rule.meaning).c_str());
  }
  if (json) std::printf("%s\n", dump_json(Json{{"rules", list}}).c_str());
}

void print_json(const std::string& path, const std::vector<Finding>& findings) {
  Json json{{"spec", path}, {"findings", Json::array()}};
  for (const Finding& finding : findings)
    json["findings"].push_back(
        {{"rule", finding.rule}, {"line", finding.line}, {"why", finding.why}, {"remedy", finding.remedy}});
  std::printf("%s\n", dump_json(json).c_str());
}

void print_text(const std::string& path, const std::vector<Finding>& findings) {
  for (const Finding& finding : findings) {
    const std::string where = path + (finding.line > 0 ? ":" + std::to_string(finding.line) : "");
    std::printf("%s: %s [%s]\n  hint: %s\n", where.c_str(), printable(finding.why).c_str(),
                std::string(finding.rule).c_str(), printable(finding.remedy).c_str());
  }
}

// Those of the command line and of the setting. Errors: usage, naming the nearest rule.
Result<std::vector<std::string>> ignored_rules(const Parsed& parsed, const Settings& settings) {
  std::vector<std::string> ignored = parsed.all("ignore");
  for (const std::string_view name : split(settings.lint_ignore, ','))
    if (!trim(name).empty()) ignored.emplace_back(trim(name));
  std::vector<std::string_view> names;
  for (const LintRule& rule : lint_rules()) names.push_back(rule.name);
  for (const std::string& name : ignored) {
    if (std::find(names.begin(), names.end(), name) != names.end()) continue;
    const auto near = nearest(name, names);
    return fail(ErrorKind::usage, "there is no rule '" + printable(name) + "'",
                near ? "did you mean '" + std::string(*near) + "'?" : "'pinstep lint --rules' lists them");
  }
  return ignored;
}

Result<int> lint_spec(const World& world, const Parsed& parsed) {
  const auto place = load_place(world, "");
  if (!place) return tl::unexpected(place.error());
  const auto ignored = ignored_rules(parsed, place->settings);
  if (!ignored) return tl::unexpected(ignored.error());
  const auto path = spec_operand(world, parsed);
  if (!path) return tl::unexpected(path.error());
  const auto spec = load_spec(*path);
  if (!spec) return tl::unexpected(spec.error());
  Progress progress;
  auto options = lock_options(world, place->settings, progress);
  if (!options) return tl::unexpected(options.error());
  if (auto asked = add_profile(*options, world, parsed); !asked) return tl::unexpected(asked.error());
  const auto lock = load_lock(lock_path_of(*path));
  const auto profile = profile_to_lock(*options, own_platform(), lock ? &*lock : nullptr);
  const auto findings = lint({*spec, profile, this_month(), options->channels}, *ignored);
  parsed.has("json") ? print_json(*path, findings) : print_text(*path, findings);
  return findings.empty() ? kOk : kFailed;
}

int run_lint(const World& world, const Arguments& arguments) {
  const auto parsed = parse(
      arguments,
      {{"profile", true}, {"virtual-package", true}, {"ignore", true}, {"rules", false}, {"json", false}});
  if (!parsed) return report(parsed.error(), wants_json(arguments));
  const bool json = parsed->has("json");
  if (parsed->has("rules")) {
    print_rules(json);
    return kOk;
  }
  const auto code = lint_spec(world, *parsed);
  return code ? *code : report(code.error(), json);
}

}  // namespace

const Verb kLint{"lint", "say what in a spec is hardly what was meant", kLintUsage, run_lint};

}  // namespace pinstep::cli
