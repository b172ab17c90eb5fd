#include "launcher/launch/place.h"

#include <unistd.h>

#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "launcher/allowed/allowed.h"
#include "launcher/allowed/devices.h"
#include "launcher/bind/bind.h"
#include "launcher/mapfile/show_map.h"
#include "launcher/mapfile/step_directory.h"
#include "pinstep_config.h"

namespace pinstep {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;
constexpr Clock::Milliseconds kReportPatience{3000};
constexpr Clock::Milliseconds kMapPatience{5000};

// ---- pinstep-map

Result<std::string> map_program() {
  for (const std::string& directory :
       {own_program_directory() + "/../libexec/pinstep", std::string(PINSTEP_LIBEXECDIR)})
    if (std::string path = directory + "/pinstep-map"; ::access(path.c_str(), X_OK) == 0) return path;
  return fail(ErrorKind::not_found, "this pinstep was built without hwloc");
}

// hwloc's own plugins would start up CUDA, OpenCL and the like in front of every program.
Environment quiet_hwloc(Environment environment) {
  environment.unset("LD_LIBRARY_PATH");
  environment.unset("LD_PRELOAD");
  environment.set("HWLOC_COMPONENTS", "-cuda,-opencl,-nvml,-rsmi,-levelzero,-gl,-pci");
  environment.set("HWLOC_HIDE_ERRORS", "2");
  return environment;
}

// "error <kind> <cause> <hint>", as pinstep-map says it; nothing for another text.
std::optional<Error> parse_failure(std::string_view text) {
  const auto words = split(text.substr(0, text.find('\n')), ' ');
  const auto kind = words.size() == 4 && words[0] == "error" ? parse_error_kind(words[1]) : std::nullopt;
  const auto cause = kind ? percent_decode(words[2]) : std::nullopt;
  const auto hint = kind ? percent_decode(words[3]) : std::nullopt;
  if (!cause || !hint) return std::nullopt;
  return Error{*kind, *cause, *hint};
}

Error failure(const CommandResult& result) {
  if (auto told = parse_failure(result.output)) return *told;
  const std::string how = result.signal != 0 ? "by signal " + std::to_string(result.signal)
                                             : "with exit code " + std::to_string(result.exit_code);
  return {ErrorKind::os, "pinstep-map ended " + how, ""};
}

Result<std::string> compute(std::vector<std::string> arguments, const Environment& environment) {
  const auto program = map_program();
  if (!program) return tl::unexpected(program.error());
  arguments.insert(arguments.begin(), *program);
  const auto result = run({std::move(arguments), quiet_hwloc(environment)}, kMostBytes);
  if (!result) return tl::unexpected(result.error());
  if (result->exit_code != 0 || result->signal != 0) return tl::unexpected(failure(*result));
  return result->output;
}

std::vector<std::string> common_arguments(const LaunchOptions& options, std::uint32_t ranks) {
  std::vector<std::string> arguments{"--ranks=" + std::to_string(ranks)};
  if (options.gpus_per_rank) arguments.push_back("--gpus-per-rank=" + std::to_string(*options.gpus_per_rank));
  if (!options.topology.empty()) arguments.push_back("--topology=" + options.topology);
  if (options.ignores_link) arguments.emplace_back("--ignore-link");
  if (options.system_cores > 0) arguments.push_back("--system-cores=" + std::to_string(options.system_cores));
  if (options.scores) arguments.emplace_back("--score");
  return arguments;
}

// ---- the map of this step

std::string bits_or_none(const Bits& bits) { return bits.empty() ? "none" : bits.text(); }

// One rank's view of its step.
class Step {
 public:
  Step(const LaunchOptions& options, const Environment& environment, const StepFacts& facts, Clock& clock)
      : options_(options), environment_(environment), facts_(facts), clock_(clock) {
    affinity_ = affinity();
    cpus_ = step_cpus(environment, affinity_, facts.local_size);
    // A job without GPUs on a node that has some is given none, whatever it could open.
    if (environment.has("SLURM_STEP_GPUS") || environment.has("SLURM_GPUS_ON_NODE"))
      report_ = gpu_report(environment, openable_gpus("/dev"));
  }

  const Bits& own_affinity() const { return affinity_; }
  const StepCpus& cpus() const { return cpus_; }

  Result<NodeMap> find_map() const {
    const auto top = user_directory({"/dev/shm", "/tmp"}, ::getuid());
    if (!top) return tl::unexpected(top.error());
    const auto directory = StepDirectory::enter(*top, name(), inputs());
    if (!directory) return tl::unexpected(directory.error());
    if (needs_reports())
      if (const auto said = directory->report(facts_.local_rank, report_.text()); !said)
        return tl::unexpected(said.error());
    if (!directory->is_first())
      if (const auto text = directory->wait(clock_, kMapPatience)) return understand(*text);
    const auto made = make_map(*directory);
    const std::string text = made ? *made : failure_text(made.error());
    if (directory->is_first())
      if (const auto done = directory->publish(text); !done) return tl::unexpected(done.error());
    return understand(text);
  }

 private:
  // Unique on this node. A job that is requeued has the same steps again.
  std::string name() const {
    const auto value = [&](std::string_view variable, std::string_view fallback) {
      return percent_encode(environment_.get(variable).value_or(fallback), "/.");
    };
    const std::string restarts = value("SLURM_RESTART_COUNT", "0");
    return value("SLURM_CLUSTER_NAME", "cluster") + "." + facts_.place.id.text() + "." +
           value("SLURM_HET_GROUP_OFFSET", "0") + (restarts == "0" ? "" : "." + restarts);
  }

  std::string inputs() const {
    std::string text =
        std::string(PINSTEP_VERSION) + " " + std::string(environment_.get("SLURM_RESTART_COUNT").value_or("0"));
    for (const std::string& argument : common_arguments(options_, facts_.local_size)) text += " " + argument;
    return text;
  }

  // Where Slurm tells a task what it has, it may tell each one something else.
  bool needs_reports() const { return facts_.local_size > 1 && report_.given; }

  Result<std::string> make_map(const StepDirectory& directory) const {
    std::vector<GpuReport> reports{report_};
    if (needs_reports()) {
      const auto texts = directory.reports(facts_.local_size, clock_, kReportPatience);
      if (!texts) return tl::unexpected(texts.error());
      reports.clear();
      for (const std::string& text : *texts) reports.push_back(GpuReport::parse(text).value_or(report_));
    }
    const auto on_node = parse_number<std::uint32_t>(environment_.get("SLURM_GPUS_ON_NODE").value_or(""));
    const StepGpus gpus = step_gpus(reports, on_node);
    std::vector<std::string> arguments = common_arguments(options_, facts_.local_size);
    if (gpus.is_isolated()) {
      std::string list;
      for (const Bits& of_rank : gpus.of_rank) list += (list.empty() ? "" : "/") + bits_or_none(of_rank);
      arguments.push_back("--rank-gpus=" + list);
    } else {
      arguments.push_back("--gpus=" + bits_or_none(gpus.gpus));
      arguments.push_back("--opens=" + bits_or_none(gpus.opens));
    }
    if (gpus.each && !options_.gpus_per_rank)
      arguments.push_back("--gpus-per-rank=" + std::to_string(*gpus.each));
    arguments.push_back(cpus_.cpus ? "--cpus=" + cpus_.cpus->text() : "--no-cores");
    auto map = compute(std::move(arguments), environment_);
    if (map && !gpus.why_none.empty()) return with_note(*map, gpus.why_none);
    return map;
  }

  static std::string with_note(std::string map, const std::string& note) {
    return map.insert(map.rfind("end\n"), "note " + percent_encode(note, "") + "\n");
  }

  // What the first rank could not do the others need not try.
  static std::string failure_text(const Error& error) {
    return "error " + std::string(to_string(error.kind)) + " " + percent_encode(error.cause, "") + " " +
           percent_encode(error.hint, "") + "\n";
  }

  static Result<NodeMap> understand(const std::string& text) {
    if (auto told = parse_failure(text)) return tl::unexpected(std::move(*told));
    return parse_map(text);
  }

  const LaunchOptions& options_;
  const Environment& environment_;
  const StepFacts& facts_;
  Clock& clock_;
  Bits affinity_;
  StepCpus cpus_;
  GpuReport report_;
};

std::string warning(const StepFacts& facts, const std::string& text) {
  return "pinstep: warning: " + facts.place.node + ": " + text + "\n";
}

void bind_rank(const MappedRank& rank, const Bits& own, std::vector<std::string>& problems) {
  if (rank.pus.empty()) return;
  if (const auto bound = rank.pus == own ? Result<void>() : bind_to(rank.pus); !bound) {
    problems.push_back(one_line(bound.error()));
    return;
  }
  // A container or an old kernel may refuse it, and the kernel's own choice is nearly always the same.
  if (rank.memory_node) (void)prefer_memory_of(*rank.memory_node);
}

// What only local rank 0 says.
void tell(const NodeMap& map, const LaunchOptions& options, const StepFacts& facts, const Step& step,
          std::vector<std::string>& messages) {
  if (map.isolated && facts.local_size > 1 && options.visible == Visible::all)
    messages.push_back(warning(
        facts,
        "each rank can open its own GPU only, as cuda:0, so that peer-to-peer transfers may fail (sbatch "
        "--env-gpu-share, or SLURM_GPU_BIND=none in srun's environment, lets them reach each other's)"));
  if (!options.prints_map) return;
  NodeMap shown = map;
  if (!step.cpus().why_not.empty()) shown.notes.push_back("not bound: " + step.cpus().why_not);
  messages.push_back(options.json ? map_json(shown, facts.place.node)
                                  : "map of " + facts.place.node + ":\n" + show_map(shown));
}

}  // namespace

Placement place_rank(const LaunchOptions& options, const Environment& environment, const StepFacts& facts,
                     Clock& clock) {
  Placement placement;
  if (facts.place.id.kind != StepId::Kind::tasks) return placement;
  const bool speaks = facts.local_rank == 0;
  const Step step(options, environment, facts, clock);
  const auto map = step.find_map();
  if (!map || facts.local_rank >= map->ranks.size()) {
    const std::string why = map ? "its map is for fewer ranks" : one_line(map.error());
    if (speaks) placement.messages.push_back(warning(facts, "ranks are not bound: " + why));
    return placement;
  }
  std::vector<std::string> problems;
  NodeMap used = *map;
  if (!options.binds)
    for (MappedRank& rank : used.ranks) rank.pus = {}, rank.memory_node.reset();
  bind_rank(used.ranks[facts.local_rank], step.own_affinity(), problems);
  // The number of threads follows from the cores, so only where the rank is on them.
  if (!problems.empty()) used.ranks[facts.local_rank].pus = {};
  placement.variables = exported_variables(used, facts.local_rank, environment, options.visible);
  if (options.is_verbose)
    placement.messages.push_back("pinstep: " + facts.place.node + ": rank " + std::to_string(facts.rank) +
                                 ": " + show_rank(used, facts.local_rank) + "\n");
  if (!speaks) return placement;
  for (const std::string& problem : problems)
    placement.messages.push_back(warning(facts, "ranks are not bound: " + problem));
  tell(used, options, facts, step, placement.messages);
  return placement;
}

Result<NodeMap> dry_run(const LaunchOptions& options, const Environment& environment) {
  std::vector<std::string> arguments = common_arguments(options, options.ranks);
  if (options.gpus) arguments.push_back("--gpus=" + *options.gpus);
  if (options.cpus) arguments.push_back("--cpus=" + *options.cpus);
  const auto text = compute(std::move(arguments), environment);
  if (!text) return tl::unexpected(text.error());
  return parse_map(*text);
}

}  // namespace pinstep
