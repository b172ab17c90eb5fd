#include "launcher/launch/find_map.h"

#include <unistd.h>

#include "envtools/base/text.h"
#include "launcher/allowed/devices.h"
#include "launcher/bind/bind.h"
#include "launcher/launch/map_program.h"
#include "launcher/mapfile/step_directory.h"
#include "pinstep_config.h"

namespace pinstep {
namespace {

constexpr Clock::Milliseconds kReportPatience{3000};
constexpr Clock::Milliseconds kMapPatience{5000};

// NCCL's own variables, where the user has set them: the program will go by them.
void add_nccls(const LaunchOptions& options, const Environment& environment,
               std::vector<std::string>& arguments) {
  const auto add = [&](const std::string& option, std::string_view variable) {
    const auto value = environment.get(variable).value_or("");
    if (!value.empty()) arguments.push_back(option + "=" + std::string(value));
  };
  if (options.nics.empty()) add("--nccl-ib-hca", "NCCL_IB_HCA");
  if (options.nccl_topology.empty() && options.topology.empty()) add("--users-nccl-topology", "NCCL_TOPO_FILE");
}

std::vector<std::string> common_arguments(const LaunchOptions& options, const Environment& environment,
                                          std::uint32_t ranks) {
  std::vector<std::string> arguments{"--ranks=" + std::to_string(ranks)};
  if (options.gpus_per_rank) arguments.push_back("--gpus-per-rank=" + std::to_string(*options.gpus_per_rank));
  if (!options.topology.empty()) arguments.push_back("--topology=" + options.topology);
  if (!options.nccl_topology.empty()) arguments.push_back("--nccl-topology=" + options.nccl_topology);
  if (!options.nics.empty()) arguments.push_back("--nics=" + options.nics);
  add_nccls(options, environment, arguments);
  if (options.is_strict) arguments.emplace_back("--strict");
  if (options.ignores_link) arguments.emplace_back("--ignore-link");
  if (options.system_cores > 0) arguments.push_back("--system-cores=" + std::to_string(options.system_cores));
  if (options.scores) arguments.emplace_back("--score");
  return arguments;
}

std::string bits_or_none(const Bits& bits) { return bits.empty() ? "none" : bits.text(); }

// The list of each rank, as pinstep-map takes it. One task's holds for all its ranks.
std::string visible_text(const std::vector<std::string>& lists) {
  std::string text;
  for (const std::string& list : lists) text += (text.empty() ? "=" : "/=") + percent_encode(list, "/");
  return text;
}

// A line of the map that pinstep-map could not know.
std::string with_note(std::string map, const std::string& note) {
  if (note.empty()) return map;
  return map.insert(map.rfind("end\n"), "note " + percent_encode(note, "") + "\n");
}

// One rank's view of its step.
class Step {
 public:
  Step(const LaunchOptions& options, const Environment& environment, const StepFacts& facts, Clock& clock)
      : options_(options), environment_(environment), facts_(facts), clock_(clock), affinity_(affinity()) {
    cpus_ = step_cpus(environment, affinity_, options.is_child ? 1 : facts.local_size);
    // A job without GPUs on a node that has some is given none, whatever it could open.
    if (environment.has("SLURM_STEP_GPUS") || environment.has("SLURM_GPUS_ON_NODE") ||
        environment.has("CUDA_VISIBLE_DEVICES"))
      report_ = gpu_report(environment, openable_gpus("/dev", "/sys"));
  }

  FoundMap find_map() const {
    const auto top = user_directory({"/dev/shm", "/tmp"}, ::getuid());
    const auto directory = top ? StepDirectory::enter(*top, name(), inputs()) : tl::unexpected(top.error());
    FoundMap found{
        directory ? find_map(*directory) : map_alone(directory.error()), affinity_, cpus_.cpus, {}, {}};
    if (found.map && facts_.local_rank >= found.map->ranks.size())
      found.map = fail(ErrorKind::corrupt, "the map of the node is for fewer ranks");
    if (found.map && options_.writes_nccl_file) found.nccl_file = nccl_file(*directory);
    if (directory) found.directory = *directory;
    return found;
  }

 private:
  Result<NodeMap> find_map(const StepDirectory& directory) const {
    if (may_be_asked())
      if (const auto said = directory.report(facts_.local_rank, report_.text()); !said)
        return tl::unexpected(said.error());
    if (!directory.is_first())
      if (const auto text = directory.wait(clock_, kMapPatience)) return understand_map(*text);
    const auto made = make_map(&directory);
    const std::string text = made ? *made : failure_text(made.error());
    // What the first rank could not do the others need not try.
    // Where they cannot be told they make it themselves.
    if (directory.is_first()) (void)directory.publish(text);
    return understand_map(text);
  }

  // Where ranks cannot tell each other anything each makes the map that all would make, if it knows enough.
  Result<NodeMap> map_alone(const Error& why) const {
    if (needs_reports() || options_.writes_nccl_file) return tl::unexpected(why);
    const auto made = make_map(nullptr);
    if (!made) return tl::unexpected(made.error());
    return understand_map(*made);
  }

  static std::string nccl_file(const StepDirectory& directory) { return directory.path() + "/nccl.xml"; }

  // Unique on this node. A job that is requeued has the same steps again, and a task's ranks have a map of
  // their own beside the task's.
  std::string name() const {
    const auto value = [&](std::string_view variable, std::string_view fallback) {
      return percent_encode(environment_.get(variable).value_or(fallback), "/.");
    };
    const std::string restarts = value("SLURM_RESTART_COUNT", "0");
    return value("SLURM_CLUSTER_NAME", "cluster") + "." + facts_.place.id.text() + "." +
           value("SLURM_HET_GROUP_OFFSET", "0") + (restarts == "0" ? "" : "." + restarts) +
           (options_.is_child ? ".ranks" : "");
  }

  std::string inputs() const {
    std::string text =
        std::string(PINSTEP_VERSION) + " " + std::string(environment_.get("SLURM_RESTART_COUNT").value_or("0"));
    for (const std::string& argument : common_arguments(options_, environment_, facts_.local_size))
      text += " " + argument;
    if (options_.writes_nccl_file) text += " nccl";
    return text;
  }

  // A task's ranks have all that it has.
  bool may_be_asked() const {
    return !options_.is_child && facts_.local_size > 1 && (report_.given || !report_.opens.empty());
  }
  // Where Slurm or the user tells a task what it has, each task may be told something else.
  bool needs_reports() const { return may_be_asked() && (report_.given || report_.visible); }

  Result<std::vector<GpuReport>> reports(const StepDirectory* directory) const {
    if (!needs_reports()) return std::vector{report_};
    const auto texts = directory->reports(facts_.local_size, clock_, kReportPatience);
    if (!texts) return tl::unexpected(texts.error());
    std::vector<GpuReport> reports;
    for (const std::string& text : *texts) reports.push_back(GpuReport::parse(text).value_or(report_));
    return reports;
  }

  // `directory` only where ranks have to be asked, or NCCL to be given a file.
  Result<std::string> make_map(const StepDirectory* directory) const {
    const auto said = reports(directory);
    if (!said) return tl::unexpected(said.error());
    const StepGpus gpus = step_gpus(*said, node_gpus(environment_));
    if (options_.is_strict && !gpus.why_none.empty()) return fail(ErrorKind::conflict, gpus.why_none);
    if (options_.is_strict && options_.binds && !cpus_.cpus && !cpus_.is_users_choice)
      return fail(ErrorKind::conflict, cpus_.why_not);
    std::vector<std::string> arguments = common_arguments(options_, environment_, facts_.local_size);
    if (gpus.is_isolated()) {
      std::string list;
      for (const Bits& of_rank : gpus.of_rank) list += (list.empty() ? "" : "/") + bits_or_none(of_rank);
      arguments.push_back("--rank-gpus=" + list);
    } else {
      arguments.push_back("--opens=" + bits_or_none(gpus.opens));
      arguments.push_back(gpus.visible.empty() ? "--gpus=" + bits_or_none(gpus.gpus)
                                               : "--visible=" + visible_text(gpus.visible));
    }
    if (gpus.each && !options_.gpus_per_rank && !options_.is_child)
      arguments.push_back("--gpus-per-rank=" + std::to_string(*gpus.each));
    if (options_.writes_nccl_file) arguments.push_back("--nccl-file=" + nccl_file(*directory));
    arguments.push_back(cpus_.cpus ? "--cpus=" + cpus_.cpus->text() : "--no-cores");
    const auto map = run_map_program(std::move(arguments), environment_);
    if (!map) return map;
    return with_note(with_note(*map, gpus.why_none),
                     cpus_.why_not.empty() ? "" : "not bound: " + cpus_.why_not);
  }

  const LaunchOptions& options_;
  const Environment& environment_;
  const StepFacts& facts_;
  Clock& clock_;
  Bits affinity_;
  StepCpus cpus_;
  GpuReport report_;
};

}  // namespace

FoundMap find_map(const LaunchOptions& options, const Environment& environment, const StepFacts& facts,
                  Clock& clock) {
  return Step(options, environment, facts, clock).find_map();
}

Result<NodeMap> dry_run(const LaunchOptions& options, const Environment& environment) {
  // What the user has set is about this node.
  const Environment& about = options.topology.empty() ? environment : Environment();
  std::vector<std::string> arguments = common_arguments(options, about, options.ranks);
  if (options.gpus) arguments.push_back("--gpus=" + *options.gpus);
  if (options.cpus) arguments.push_back("--cpus=" + *options.cpus);
  const auto text = run_map_program(std::move(arguments), environment);
  if (!text) return tl::unexpected(text.error());
  return understand_map(*text);
}

}  // namespace pinstep
