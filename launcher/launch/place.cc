#include "launcher/launch/place.h"

#include "envtools/base/process.h"
#include "envtools/base/variables.h"
#include "launcher/advice/advice.h"
#include "launcher/bind/bind.h"
#include "launcher/exports/interface.h"
#include "launcher/launch/draw_map.h"
#include "launcher/launch/find_map.h"
#include "launcher/mapfile/show_map.h"
#include "pinstep_config.h"

namespace pinstep {
namespace {

std::string line(std::string_view kind, const StepFacts& facts, std::string_view text) {
  return "pinstep: " + std::string(kind) + ": " + facts.place.node + ": " + std::string(text) + "\n";
}

std::string rank_line(const NodeMap& map, const StepFacts& facts,
                      const std::vector<std::pair<std::string, std::string>>& variables) {
  std::string text = "pinstep: " + facts.place.node + ": rank " + std::to_string(facts.rank) + ": " +
                     show_rank(map, facts.local_rank);
  for (const auto& [name, value] : variables)
    text.append(&name == &variables.front().first ? "; " : " ").append(name).append("=").append(value);
  return text + "\n";
}

std::string interface(const Environment& environment) {
  auto master = environment.get("MASTER_ADDR");
  if (!master) master = environment.get("PET_MASTER_ADDR");
  return master ? interface_towards_master(std::string(*master)) : "";
}

// False where the rank runs on other processors than the map says.
bool bind_rank(const MappedRank& rank, const Bits& own, MemoryPolicy memory, std::vector<Error>& problems) {
  if (rank.pus.empty()) return true;
  if (const auto bound = rank.pus == own ? Result<void>() : bind_to(rank.pus); !bound) {
    problems.push_back(bound.error());
    return false;
  }
  // The kernel leaves out what a cpuset does not allow, without a word.
  if (const Bits now = affinity(); now != rank.pus) {
    problems.push_back(
        {ErrorKind::os, "of processors " + rank.pus.text() + " the kernel allows " + now.text(), ""});
    return false;
  }
  if (!rank.memory_node) return true;
  const auto taken = take_memory_of(*rank.memory_node, memory);
  // A container or an old kernel may refuse it, and the kernel's own choice is nearly always the same.
  if (!taken && memory == MemoryPolicy::bind) problems.push_back(taken.error());
  return true;
}

// Asked only where there is something to say: it takes some milliseconds.
std::optional<SlurmVersion> slurm_version() {
  constexpr std::chrono::seconds patience{2};
  const auto said =
      run({{SLURM_BINDIR "/srun", "--version"}, process_environment(), {}, false, patience}, 4096);
  return said ? SlurmVersion::parse(said->output) : std::nullopt;
}

// pinstep-launch prepares a step itself only where the plugin has not.
bool with_plugin(const Environment& environment, const StepFacts& facts) {
  return process_environment().get(variable::kStepId) == facts.place.id.text() &&
         environment.has(variable::kPin);
}

// What only local rank 0 says.
void tell(const NodeMap& map, const LaunchOptions& options, const StepFacts& facts,
          const Environment& environment, std::vector<std::string>& messages) {
  if (map.isolated && facts.local_size > 1 && options.visible == Visible::all)
    messages.push_back(
        line("warning", facts, isolation_advice(slurm_version(), with_plugin(environment, facts))));
  if (const auto advice = starvation_advice(map, environment))
    messages.push_back(line("warning", facts, *advice));
  if (options.prints_map)
    messages.push_back(options.json ? map_json(map, facts.place.node)
                                    : "map of " + facts.place.node + ":\n" + show_map(map));
}

// One file is for one picture: that of the step's first node, or each node has its own.
void draw(const NodeMap& map, const std::optional<Bits>& cpus, const LaunchOptions& options,
          const StepFacts& facts, const Environment& environment, std::vector<std::string>& messages) {
  if (options.picture.empty() || (facts.node_rank != 0 && !has_picture_each(options))) return;
  if (const auto done = draw_map(options, map, cpus, facts.place.node, environment); !done)
    messages.push_back(line("warning", facts, "there is no picture: " + one_line(done.error())));
}

// One rank of the node says it, whichever has it first: local rank 0 may have none, or not use this program.
bool speaks_of_problems(const FoundMap& found, const StepFacts& facts) {
  const bool speaks = facts.local_rank == 0;
  if (!found.directory) return speaks;
  return found.directory->claim(found.map ? "unbound" : "no-map").value_or(speaks);
}

}  // namespace

Placement place_rank(const LaunchOptions& options, const Environment& environment, const StepFacts& facts,
                     Program program, Clock& clock) {
  Placement placement;
  if (facts.place.id.kind != StepId::Kind::tasks && !options.is_child) return placement;
  const bool speaks = facts.local_rank == 0;
  FoundMap found = find_map(options, environment, facts, clock);
  if (!found.map) {
    placement.problems.push_back(found.map.error());
  } else {
    NodeMap& map = *found.map;
    if (options.verifies) placement.map = map;
    if (!options.binds)
      for (MappedRank& rank : map.ranks) rank.pus = {}, rank.memory_node.reset();
    MappedRank& own = map.ranks[facts.local_rank];
    // The number of threads follows from the cores, so only where the rank is on them.
    if (!bind_rank(own, found.affinity, options.memory, placement.problems)) own.pus = {};
    if (options.is_strict && options.binds && found.cpus && own.pus.empty() && placement.problems.empty())
      placement.problems.push_back({ErrorKind::conflict, "the ranks have fewer cores than they are", ""});
    placement.variables =
        exported_variables(map, facts.local_rank, environment,
                           {options.visible, program, interface(environment), found.nccl_file});
    if (options.is_verbose) placement.messages.push_back(rank_line(map, facts, placement.variables));
    if (speaks) tell(map, options, facts, environment, placement.messages);
    if (speaks) draw(map, found.cpus, options, facts, environment, placement.messages);
  }
  if (!options.is_strict && !placement.problems.empty() && speaks_of_problems(found, facts))
    for (const Error& problem : placement.problems)
      placement.messages.push_back(line("warning", facts, "ranks are not bound: " + one_line(problem)));
  return placement;
}

}  // namespace pinstep
