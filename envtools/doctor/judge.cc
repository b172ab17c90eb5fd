#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "envtools/base/text.h"
#include "envtools/config/settings.h"
#include "envtools/doctor/finding.h"
#include "envtools/store/store.h"

namespace pinstep::doctor {
namespace {

using Findings = std::vector<Finding>;

std::string in_quotes(std::string_view text) { return "'" + std::string(text) + "'"; }

std::string counted(std::size_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

void judge_plugin(const PluginFacts& plugin, const std::string& slurm, Findings& out) {
  const PluginLine& line = plugin.line;
  if (line.word == "required")
    out.push_back({Level::error, "plugstack", line.where + ": the word is 'required'",
                   "make it 'optional': a node where the file is missing or of another series would fail every "
                   "step of every user and be drained"});
  else
    out.push_back({Level::ok, "plugstack", line.where + ": optional " + line.path});
  if (!line.path.starts_with('/')) {
    out.push_back({Level::error, "plugin",
                   line.where + ": the path " + in_quotes(line.path) + " is not absolute",
                   "name the file from '/' on, so that it does not depend on PluginDir"});
    return;
  }
  if (plugin.digest.empty()) {
    out.push_back({Level::error, "plugin", plugin.trouble, "install pinstep.so there, or take out the line"});
    return;
  }
  if (plugin.version == 0) {
    out.push_back({Level::error, "plugin", in_quotes(line.path) + " is no Slurm plugin: " + plugin.trouble,
                   "install pinstep.so anew, by rename"});
    return;
  }
  const std::string series = series_of(plugin.version);
  if (!slurm.empty() && series != series_of(slurm))
    out.push_back({Level::error, "plugin",
                   in_quotes(line.path) + " is of Slurm " + series + " and this is Slurm " + slurm +
                       ", which does not load it",
                   "build the plugin with this Slurm's headers and rename it over the old one"});
  else
    out.push_back({Level::ok, "plugin", in_quotes(line.path) + " is of Slurm " + series});
}

void judge_plugins(const Facts& facts, Findings& out) {
  if (facts.plugins.empty())
    out.push_back(
        {Level::warning, "plugstack",
         "plugstack.conf has no line for pinstep, so srun and sbatch have no "
         "--env-spec",
         "an administrator adds 'optional /usr/local/lib/pinstep/pinstep.so'; without it use 'pinstep "
         "sbatch' and pinstep-launch"});
  if (facts.plugins.size() > 1)
    out.push_back({Level::error, "plugstack",
                   "plugstack.conf has " + counted(facts.plugins.size(), "line") + " for pinstep",
                   "leave one"});
  for (const PluginFacts& plugin : facts.plugins) judge_plugin(plugin, facts.slurm, out);
}

void judge_store(const StoreFacts& store, bool first, Findings& out) {
  const std::string name = in_quotes(store.path);
  if (!store.trouble.empty())
    out.push_back({Level::error, "store", name + ": " + store.trouble,
                   "set PINSTEP_STORE or the setting 'store' to another directory"});
  else if (first && !store.writable)
    out.push_back({store.exists ? Level::warning : Level::error, "store",
                   name + (store.exists ? " cannot be written by you, so nothing can be built"
                                        : " is not there and you cannot make it"),
                   "set PINSTEP_STORE or the setting 'store' to a directory that is yours, in front of it"});
  else if (store.exists)
    out.push_back({Level::ok, "store", name + " has " + counted(store.count, "environment")});
  else
    out.push_back({Level::ok, "store", name + " will be made when something is built"});
  if (store.path.size() + std::string_view("/e/0123456789abcdef").size() > kStorePathAdvice)
    out.push_back(
        {Level::warning, "store",
         "prefixes in " + name + " have paths of more than " + std::to_string(kStorePathAdvice) + " bytes",
         "some packages cannot be installed below a long path"});
}

void judge_task_prolog(const SlurmConfig& config, Findings& out) {
  const auto prolog = config.find("TaskProlog");
  if (prolog == config.end() || prolog->second.empty()) {
    out.push_back({Level::ok, "task-prolog", "none: a node without a working plugin runs a job's tasks bare"});
    return;
  }
  const std::string& path = prolog->second;
  if (::access(path.c_str(), X_OK) != 0)
    out.push_back(
        {Level::warning, "task-prolog", "TaskProlog " + in_quotes(path) + " is not a program on this host",
         "if it is missing on a node every task of every user fails there: install it, or take it out"});
  else if (std::filesystem::path(path).filename() == "task-prolog-guard")
    out.push_back({Level::ok, "task-prolog", "task-prolog-guard fails tasks that a node would run bare"});
  else
    out.push_back(
        {Level::ok, "task-prolog", in_quotes(path) + " runs after the plugin and may change what it set"});
}

void judge_ports(const SlurmConfig& config, PortRange ephemeral, Findings& out) {
  const auto found = config.find("MpiParams");
  const PortRange ports = reserved_ports(found == config.end() ? "" : found->second);
  const auto shown = [](PortRange range) {
    return std::to_string(range.first) + "-" + std::to_string(range.last);
  };
  const std::string remedy = "set MpiParams=ports=20000-20999 or the like in slurm.conf, outside " +
                             (ephemeral.last == 0 ? "the ephemeral range" : shown(ephemeral));
  if (ports.last == 0)
    out.push_back({Level::warning, "mpi-params",
                   "MpiParams reserves no ports, so steps share what pinstep derives "
                   "or srun holds",
                   remedy});
  else if (ports.first <= ephemeral.last && ephemeral.first <= ports.last)
    out.push_back({Level::warning, "mpi-params",
                   "the ports " + shown(ports) +
                       " of MpiParams overlap the ephemeral "
                       "range " +
                       shown(ephemeral) + ": any program's connection may take one",
                   remedy});
  else
    out.push_back({Level::ok, "mpi-params", "steps get ports of " + shown(ports)});
}

// "2.9" before "2.36".
bool older(std::string_view left, std::string_view right) {
  const auto a = split(left, '.'), b = split(right, '.');
  for (std::size_t i = 0; i < a.size() && i < b.size(); ++i) {
    const auto x = parse_number<unsigned>(a[i]).value_or(0), y = parse_number<unsigned>(b[i]).value_or(0);
    if (x != y) return x < y;
  }
  return a.size() < b.size();
}

void compare_stores(const Facts& here, const Facts& node, Findings& out) {
  for (const StoreFacts& store : here.stores) {
    const auto same = std::find_if(node.stores.begin(), node.stores.end(),
                                   [&](const StoreFacts& other) { return other.path == store.path; });
    const std::string name = in_quotes(store.path);
    const std::string remedy = "put the store where all nodes have it at the same path: the setting 'store'";
    if (same == node.stores.end())
      out.push_back({Level::error, "store", name + " is none of the stores there", remedy});
    else if (store.exists && !same->exists && same->trouble.empty())
      out.push_back({Level::error, "store", name + " is not there", remedy});
    else if (store.exists && same->exists && store.environments != same->environments)
      out.push_back({Level::error, "store",
                     name + " has " + counted(same->count, "environment") + " there, other than here",
                     remedy + " (or something was built meanwhile)"});
  }
}

void compare_versions(const Facts& here, const Facts& node, Findings& out) {
  const auto differ = [&](Level level, const char* check, const std::string& what, const std::string& mine,
                          const std::string& theirs, const char* remedy) {
    if (mine != theirs)
      out.push_back({level, check,
                     what + " " + (theirs.empty() ? "not there" : theirs) + ", here " +
                         (mine.empty() ? "not there" : mine),
                     remedy});
  };
  differ(Level::error, "pinstep", "pinstep is", here.pinstep, node.pinstep,
         "install the same version on all nodes");
  differ(Level::error, "machine", "the machine is", here.machine, node.machine,
         "an environment is for one platform: lock and build for that one, too");
  differ(Level::warning, "slurm", "Slurm is", series_of(here.slurm), series_of(node.slurm),
         "a plugin is of one series: each node needs its own's");
  if (here.settings != node.settings)
    out.push_back({Level::error, "settings",
                   std::string(kSiteFile) + (node.settings == "-"   ? " is missing, and here there is one"
                                             : here.settings == "-" ? " is there, and here there is none"
                                                                    : " is another than here"),
                   "install the same file everywhere"});
  if (older(node.libc, here.libc))
    out.push_back({Level::warning, "libc", "glibc is " + node.libc + ", here " + here.libc,
                   "programs that were compiled here may not start there"});
}

void compare_plugins(const Facts& here, const Facts& node, Findings& out) {
  if (here.plugins.empty() != node.plugins.empty())
    out.push_back({Level::error, "plugstack",
                   node.plugins.empty()
                       ? "plugstack.conf has no line for pinstep, and here it has: jobs run bare"
                       : "plugstack.conf has a line for pinstep, and here it has none",
                   "the same line everywhere, after pinstep.so is everywhere"});
  else if (!here.plugins.empty() && !node.plugins[0].digest.empty() &&
           series_of(here.slurm) == series_of(node.slurm) && here.plugins[0].digest != node.plugins[0].digest)
    out.push_back({Level::warning, "plugin",
                   in_quotes(node.plugins[0].line.path) + " is another file than here",
                   "install the same version everywhere, by rename"});
}

}  // namespace

std::string_view to_string(Level level) {
  return level == Level::ok ? "ok" : level == Level::warning ? "warning" : "error";
}

Findings judge(const Facts& facts, bool with_slurm) {
  Findings out;
  for (const Error& error : facts.errors) out.push_back({Level::error, "settings", error.cause, error.hint});
  if (facts.switched_off)
    out.push_back({Level::warning, "disable", std::string(kDisableFile) + " switches pinstep off",
                   "remove it when it has served its purpose"});
  if (with_slurm) judge_plugins(facts, out);
  for (const StoreFacts& store : facts.stores) judge_store(store, &store == &facts.stores.front(), out);
  return out;
}

Findings judge(const SlurmConfig& config, PortRange ephemeral) {
  Findings out;
  judge_ports(config, ephemeral, out);
  judge_task_prolog(config, out);
  return out;
}

Findings compare(const Facts& here, const Facts& node) {
  Findings out;
  compare_versions(here, node, out);
  compare_plugins(here, node, out);
  compare_stores(here, node, out);
  for (const Finding& own : judge(node, !node.plugins.empty()))
    if (own.level != Level::ok) out.push_back(own);
  for (Finding& finding : out) finding.nodes = {node.host};
  return out;
}

Findings merge(const Findings& findings) {
  Findings out;
  for (const Finding& finding : findings) {
    const auto same = std::find_if(out.begin(), out.end(), [&](Finding other) {
      other.nodes = finding.nodes;
      return other == finding;
    });
    if (same == out.end() || finding.nodes.empty())
      out.push_back(finding);
    else
      same->nodes.insert(same->nodes.end(), finding.nodes.begin(), finding.nodes.end());
  }
  return out;
}

}  // namespace pinstep::doctor
