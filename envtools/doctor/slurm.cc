#include "envtools/doctor/slurm.h"

#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "envtools/base/process.h"
#include "envtools/base/text.h"

namespace pinstep::doctor {
namespace {

constexpr std::size_t kOutputLimit = 64 << 20;       // bytes: a few KiB from each node
constexpr std::chrono::seconds kTimeLimit{20};       // scontrol
constexpr std::chrono::seconds kStepTimeLimit{120};  // a step, waiting for its nodes included
constexpr const char* kPatience = "60";              // seconds that srun waits for the nodes
// Where slurmd and sackd keep what the controller sends them (configless).
constexpr const char* kFetched = "/run/slurm/conf/plugstack.conf";

Result<std::string> output_of(const Environment& environment, std::vector<std::string> argv) {
  const std::string name = argv[0];
  const auto done = run({std::move(argv), environment, "", true, kTimeLimit}, kOutputLimit);
  if (!done) return fail(done.error().kind, name + ": " + done.error().cause);
  if (done->exit_code != 0 || done->signal != 0)
    return fail(ErrorKind::os, std::string(last_line(done->errors.empty() ? done->output : done->errors)));
  return done->output;
}

std::string short_name(std::string_view host) { return std::string(host.substr(0, host.find('.'))); }

// What srun said of the silent nodes: a line that names the first, else the last.
std::string complaint(std::string_view errors, const std::string& node) {
  for (const std::string_view line : split(errors, '\n'))
    if (line.find(node + ":") != std::string_view::npos || line.find("execve") != std::string_view::npos)
      return std::string(trim(line));
  return std::string(last_line(errors));
}

}  // namespace

SlurmConfig parse_config(std::string_view text) {
  SlurmConfig config;
  for (const std::string_view line : split(text, '\n'))
    if (const auto halves = split_once(line, '='))
      if (const std::string_view value = trim(halves->after); value != "(null)")
        config.emplace(trim(halves->before), value);
  return config;
}

Result<SlurmConfig> slurm_config(const Environment& environment) {
  const auto text = output_of(environment, {"scontrol", "show", "config"});
  if (!text) return tl::unexpected(text.error());
  return parse_config(*text);
}

Result<std::set<std::uint32_t>> listed_jobs(const Environment& environment) {
  const auto text = output_of(environment, {"squeue", "--noheader", "--all", "--states=all", "--format=%F"});
  if (!text) return tl::unexpected(text.error());
  std::set<std::uint32_t> jobs;
  for (const std::string_view line : split(*text, '\n'))
    if (const auto job = parse_number<std::uint32_t>(trim(line))) jobs.insert(*job);
  return jobs;
}

std::string plugstack_of(const SlurmConfig& config) {
  const auto found = config.find("PlugStackConfig");
  const std::string configured = found == config.end() ? "" : found->second;
  for (const std::string& path : {configured, std::string(kFetched)})
    if (!path.empty() && ::access(path.c_str(), F_OK) == 0) return path;
  return {};
}

PortRange reserved_ports(std::string_view mpi_params) {
  constexpr std::string_view kKey = "ports=";
  const auto begin = mpi_params.find(kKey);
  if (begin == std::string_view::npos) return {};
  std::string_view value = mpi_params.substr(begin + kKey.size());
  value = value.substr(0, value.find_first_of(",; \t"));
  const auto halves = split_once(value, '-');
  if (!halves) return {};
  const auto first = parse_number<std::uint32_t>(halves->before);
  const auto last = parse_number<std::uint32_t>(halves->after);
  return first && last && *first <= *last ? PortRange{*first, *last} : PortRange{};
}

PortRange ephemeral_ports() {
  PortRange range;
  std::ifstream file("/proc/sys/net/ipv4/ip_local_port_range");  // its size is 0: nothing for read_file()
  return file >> range.first >> range.last ? range : PortRange{};
}

Result<NodesAnswer> ask_nodes(const Environment& environment, const std::string& nodes,
                              const std::vector<std::string>& probe) {
  const auto list = output_of(environment, {"scontrol", "show", "hostnames", nodes});
  if (!list) return tl::unexpected(list.error());
  std::vector<std::string> names;
  for (const std::string_view line : split(*list, '\n'))
    if (!trim(line).empty()) names.emplace_back(trim(line));
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());

  // A step of no environment: what is inherited from a job must not stand in the way.
  Environment clean = environment;
  clean.unset("SLURM_SPANK_PINSTEP_ENV");
  const std::string count = std::to_string(names.size());
  std::vector<std::string> argv{"srun",
                                "--nodelist=" + nodes,
                                "--nodes=" + count,
                                "--ntasks=" + count,
                                "--ntasks-per-node=1",
                                "--overlap",
                                "--mpi=none",
                                "--chdir=/",
                                "--time=2",
                                "--kill-on-bad-exit=0",
                                "--job-name=pinstep-doctor",
                                "--quiet"};
  if (!environment.has("SLURM_JOB_ID")) argv.push_back(std::string("--immediate=") + kPatience);
  argv.insert(argv.end(), probe.begin(), probe.end());
  const auto done = run({argv, clean, "", true, kStepTimeLimit}, kOutputLimit);

  NodesAnswer answer;
  answer.silent = names;
  if (!done) {
    answer.said = "srun: " + done.error().cause;
    return answer;
  }
  for (const std::string_view line : split(done->output, '\n')) {
    auto facts = parse_facts(line);
    if (!facts) continue;  // a TaskProlog may print, too
    std::erase_if(answer.silent,
                  [&](const std::string& name) { return short_name(name) == short_name(facts->host); });
    answer.facts.push_back(std::move(*facts));
  }
  std::sort(answer.facts.begin(), answer.facts.end(),
            [](const Facts& left, const Facts& right) { return left.host < right.host; });
  if (!answer.silent.empty()) answer.said = complaint(done->errors, answer.silent[0]);
  return answer;
}

}  // namespace pinstep::doctor
