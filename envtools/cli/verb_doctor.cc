// pinstep doctor: whether what jobs need is there, here and on nodes. Anybody may run it; it changes nothing.
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "envtools/cli/cli.h"
#include "envtools/config/files.h"
#include "envtools/doctor/finding.h"
#include "envtools/json/json.h"
#include "envtools/solver/setup.h"
#include "pinstep_config.h"

namespace pinstep::cli {
namespace {

using doctor::Facts;
using doctor::Finding;
using doctor::Level;

// clang-format off
constexpr std::string_view kDoctorUsage =
    R"(usage: pinstep doctor [--nodes=LIST] [--json]
       pinstep doctor --probe [--plugstack=FILE]

Looks whether what jobs need is there and fits together: the plugin and its line in
plugstack.conf, Slurm's settings, pinstep's settings, the solver and the stores. One
line for each, with what to do. It changes nothing and needs no rights.

  --nodes=LIST      compare these nodes with this host, in one step of a job there
  --json            print an object
  --probe           plumbing: print, as one line of JSON, what --nodes compares
  --plugstack=FILE  plumbing: the plugstack.conf that --probe looks at

Exit status: 0 no errors, 1 errors, 2 wrong usage.
)";
// clang-format on

std::vector<Finding> look_at_programs() {
  std::vector<Finding> out{{Level::ok, "pinstep", "version " PINSTEP_VERSION " in " + own_program_directory()}};
  for (const char* name : {"pinstep-build", "pinstep-fetch", "solver/requirements.txt"})
    if (const std::string path = private_file(name); ::access(path.c_str(), R_OK) != 0)
      out.push_back({Level::error, "pinstep", "'" + path + "' is missing", "install pinstep anew"});
  return out;
}

Finding look_at_solver(const World& world, const std::string& configured) {
  const auto found = find_solver_programs(world.environment, {configured, private_file("solver")});
  if (found) return {Level::ok, "solver", "'" + found->python + "'"};
  return {Level::warning, "solver", found.error().cause, found.error().hint};
}

std::vector<Finding> look_at_nodes(const World& world, const Facts& here, const std::string& nodes,
                                   const std::string& plugstack) {
  std::vector<std::string> probe{own_program_directory() + "/pinstep", "doctor", "--probe"};
  if (!plugstack.empty()) probe.push_back("--plugstack=" + plugstack);
  const auto answer = doctor::ask_nodes(world.environment, nodes, probe);
  if (!answer) return {{Level::error, "nodes", answer.error().cause}};
  std::vector<Finding> out;
  for (const Facts& node : answer->facts) {
    const auto differences = doctor::compare(here, node);
    const bool same = std::none_of(differences.begin(), differences.end(),
                                   [](const Finding& finding) { return finding.level == Level::error; });
    if (same) out.push_back({Level::ok, "node", "fits this host", "", {node.host}});
    out.insert(out.end(), differences.begin(), differences.end());
  }
  if (!here.stores.empty() && !here.stores[0].exists)
    out.push_back({Level::warning, "store",
                   "'" + here.stores[0].path + "' is not there yet, so whether nodes see it was not compared",
                   "build something, then run this again"});
  if (!answer->silent.empty())
    out.push_back({Level::error, "node", "no answer: " + answer->said,
                   "'" + probe[0] + "' must be on the node at this path, and the node free and up",
                   answer->silent});
  return doctor::merge(out);
}

struct Report {
  std::vector<Finding> findings;

  void add(Finding finding) { findings.push_back(std::move(finding)); }
  void add(const std::vector<Finding>& more) { findings.insert(findings.end(), more.begin(), more.end()); }
  std::size_t count(Level level) const {
    return static_cast<std::size_t>(std::count_if(
        findings.begin(), findings.end(), [&](const Finding& finding) { return finding.level == level; }));
  }
};

// Slurm's configuration, if it can be had; says what is the matter otherwise. With `wanted` it must be had.
std::optional<doctor::SlurmConfig> look_at_slurm(const World& world, bool wanted, Report& report) {
  const auto version = doctor::slurm_version(world.environment);
  if (!version) {
    report.add({wanted ? Level::error : Level::warning, "slurm", version.error().cause, version.error().hint});
    return std::nullopt;
  }
  const auto config = doctor::slurm_config(world.environment);
  if (!config) {
    report.add({Level::error, "slurm", "version " + *version + ", but no answer: " + config.error().cause,
                "'scontrol ping' tells whether the controller is up"});
    return std::nullopt;
  }
  report.add({Level::ok, "slurm", "version " + *version});
  return *config;
}

Report examine(const World& world, const std::optional<std::string>& nodes) {
  Report report;
  report.add(look_at_programs());
  const auto config = look_at_slurm(world, nodes.has_value(), report);
  const std::string plugstack = config ? doctor::plugstack_of(*config) : "";
  const Facts here = doctor::collect(world.environment, plugstack);
  report.add(doctor::judge(here, config.has_value()));
  if (config) report.add(doctor::judge(*config, doctor::ephemeral_ports()));
  const auto settings = load_user_settings(world.environment, {});
  report.add(look_at_solver(world, settings ? settings->settings.solver : ""));
  if (nodes && config) report.add(look_at_nodes(world, here, *nodes, plugstack));
  return report;
}

std::string counted(std::size_t count, const char* noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

void print_text(const Report& report) {
  for (const Finding& finding : report.findings) {
    std::string nodes;
    for (const std::string& node : finding.nodes) nodes += (nodes.empty() ? "" : ",") + node;
    if (!nodes.empty()) nodes += ": ";
    const std::string remedy = finding.remedy.empty() ? "" : " (" + finding.remedy + ")";
    std::printf("%-7s  %s: %s\n", std::string(to_string(finding.level)).c_str(), finding.check.c_str(),
                printable(nodes + finding.text + remedy).c_str());
  }
  std::printf("%s, %s\n", counted(report.count(Level::error), "error").c_str(),
              counted(report.count(Level::warning), "warning").c_str());
}

void print_json(const Report& report) {
  Json findings = Json::array();
  for (const Finding& finding : report.findings)
    findings.push_back({{"level", std::string(to_string(finding.level))},
                        {"check", finding.check},
                        {"nodes", finding.nodes},
                        {"text", finding.text},
                        {"remedy", finding.remedy}});
  std::printf("%s\n", dump_json({{"errors", report.count(Level::error)},
                                 {"warnings", report.count(Level::warning)},
                                 {"findings", findings}})
                          .c_str());
}

int run_doctor(const World& world, const Arguments& arguments) {
  const auto parsed =
      parse(arguments, {{"nodes", true}, {"json", false}, {"probe", false}, {"plugstack", true}});
  if (!parsed) return report(parsed.error(), wants_json(arguments));
  const bool json = parsed->has("json");
  if (!parsed->operands.empty())
    return report({ErrorKind::usage, "doctor takes no operands", "pinstep doctor --nodes=LIST"}, json);
  if (parsed->has("probe")) {
    const Facts facts = doctor::collect(world.environment, parsed->last("plugstack").value_or(""));
    std::printf("%s\n", dump_json(doctor::json_of(facts)).c_str());
    return kOk;
  }
  const Report done = examine(world, parsed->last("nodes"));
  if (json)
    print_json(done);
  else
    print_text(done);
  return done.count(Level::error) == 0 ? kOk : kFailed;
}

}  // namespace

const Verb kDoctor{"doctor", "look whether what jobs need is there", kDoctorUsage, run_doctor};

}  // namespace pinstep::cli
