#include "launcher/step/step.h"

#include <algorithm>
#include <array>

#include "envtools/base/text.h"
#include "envtools/base/variables.h"
#include "launcher/step/nodelist.h"
#include "launcher/step/offer.h"

namespace pinstep {
namespace {

// slurm.h: SLURM_INTERACTIVE_STEP, SLURM_BATCH_SCRIPT, SLURM_EXTERN_CONT.
constexpr std::uint32_t kInteractiveStep = 0xfffffffa;
constexpr std::uint32_t kBatchStep = 0xfffffffb;
constexpr std::uint32_t kExternStep = 0xfffffffc;

// More nodes than any cluster has. Lists are the user's to make up, and read by slurmstepd as root.
constexpr std::size_t kMaxNodes = 100'000;
constexpr std::uint32_t kMaxComponents = 128;  // as Slurm allows a heterogeneous job

using Number = std::optional<std::uint32_t>;

Number number_of(const Environment& environment, std::string_view name) {
  return parse_number<std::uint32_t>(environment.get(name).value_or(""));
}

tl::unexpected<Error> missing(std::string_view name) {
  return fail(ErrorKind::invalid,
              "Slurm's variable " + std::string(name) + " is missing or cannot be understood",
              "run this inside a Slurm job step");
}

// ---- rank 0's node

// "(vector,(1,1,2),(0,1,1))": index of rank 0's node in the sorted node list.
std::optional<std::uint32_t> first_node_of_mapping(std::string_view mapping) {
  constexpr std::string_view beginning = "(vector,(";
  if (!mapping.starts_with(beginning)) return std::nullopt;
  mapping.remove_prefix(beginning.size());
  return parse_number<std::uint32_t>(mapping.substr(0, mapping.find(',')));
}

bool mapping_is_of_this_step(const Environment& environment, const StepId& id, Moment moment) {
  if (moment == Moment::before_tasks) return environment.get("SLURM_MPI_TYPE").value_or("").starts_with("pmix");
  return environment.get("PMIX_NAMESPACE") == "slurm.pmix." + id.text();
}

std::optional<std::string> nth_node(std::string_view list, std::size_t index) {
  if (index >= kMaxNodes) return std::nullopt;
  auto names = expand_node_list(list, index + 1);
  if (!names || names->size() <= index) return std::nullopt;
  return std::move((*names)[index]);
}

// One component of a heterogeneous job.
struct Component {
  std::uint32_t job;
  std::optional<std::string> first_node;  // in the step; nothing if the component is not
};

// Empty for a job that is not heterogeneous. srun uses the older names where it makes the allocation itself.
std::vector<Component> components(const Environment& environment) {
  std::vector<Component> found;
  if (!environment.has("SLURM_HET_SIZE")) return found;
  auto step_nodes = expand_node_list(environment.get("SLURM_STEP_NODELIST").value_or(""), kMaxNodes);
  if (!step_nodes) return found;
  std::sort(step_nodes->begin(), step_nodes->end());
  const auto is_in_step = [&](const std::string& node) {
    return std::binary_search(step_nodes->begin(), step_nodes->end(), node);
  };
  const bool is_new = environment.has("SLURM_JOB_ID_HET_GROUP_0");
  std::size_t nodes_left = kMaxNodes;  // for all components together
  for (std::uint32_t i = 0; i < kMaxComponents; ++i) {
    const std::string group = (is_new ? "_HET_GROUP_" : "_PACK_GROUP_") + std::to_string(i);
    const Number job = number_of(environment, "SLURM_JOB_ID" + group);
    if (!job) break;
    Component component{*job, std::nullopt};
    const std::string_view list = environment.get("SLURM_JOB_NODELIST" + group).value_or("");
    if (const auto nodes = expand_node_list(list, nodes_left)) {
      nodes_left -= nodes->size();
      const auto first = std::find_if(nodes->begin(), nodes->end(), is_in_step);
      if (first != nodes->end()) component.first_node = *first;
    }
    found.push_back(std::move(component));
  }
  // The first component has the job's own id. Where it has not, a job submitted this one and left it these.
  if (!found.empty() && found.front().job != number_of(environment, "SLURM_JOB_ID")) found.clear();
  return found;
}

// The component of the step that has rank 0: the first of those with nodes in the step.
std::optional<Component> first_component(const Environment& environment) {
  for (Component& component : components(environment))
    if (component.first_node) return std::move(component);
  return std::nullopt;
}

// The host file's first node, which srun has read.
std::optional<std::string> first_of_host_file(const Environment& environment) {
  const auto offer = Offer::parse(environment.get(variable::kOffer).value_or(""));
  if (!offer || offer->first.empty()) return std::nullopt;
  return offer->first;
}

void find_master(const Environment& environment, Moment moment, StepPlace& place) {
  const std::string_view nodes = environment.get("SLURM_STEP_NODELIST").value_or("");
  const auto component = first_component(environment);
  if (component) place.master_component = component->job;
  if (place.nodes == 1) {
    place.master_node = moment == Moment::before_tasks ? nth_node(nodes, 0) : place.node;
    return;
  }
  const bool is_arbitrary = environment.get("SLURM_DISTRIBUTION").value_or("").starts_with("arbitrary");
  if (!is_arbitrary && !component) {
    place.master_node = nth_node(nodes, 0);
    return;
  }
  if (mapping_is_of_this_step(environment, place.id, moment))
    if (const auto index = first_node_of_mapping(environment.get("SLURM_PMIX_MAPPING_SERV").value_or("")))
      place.master_node = nth_node(nodes, *index);
  if (!place.master_node && component && !is_arbitrary) place.master_node = component->first_node;
  if (!place.master_node && !component) place.master_node = first_of_host_file(environment);
}

// ---- one task

Number rank_of(const Environment& environment, const StepId& id) {
  if (environment.get("PMIX_NAMESPACE") == "slurm.pmix." + id.text())
    if (const Number rank = number_of(environment, "PMIX_RANK")) return rank;
  return number_of(environment, "SLURM_PROCID");
}

// In an arbitrary distribution the master node can have any index: it becomes 0, those before it move up.
std::uint32_t node_rank_of(const Environment& environment, const StepPlace& place) {
  const std::uint32_t index = number_of(environment, "SLURM_NODEID").value_or(0);
  if (place.master_component || !place.master_node) return index;
  const auto names = expand_node_list(environment.get("SLURM_STEP_NODELIST").value_or(""), kMaxNodes);
  if (!names) return index;
  const auto found = std::find(names->begin(), names->end(), *place.master_node);
  const auto master = static_cast<std::uint32_t>(found - names->begin());
  if (found == names->end() || master == 0) return index;
  if (index == master) return 0;
  return index < master ? index + 1 : index;
}

// What those who start ranks tell them. Open MPI and MPICH come first: they may themselves have been started
// where the other names are set, one per node.
struct ChildNames {
  std::string_view local_rank, local_size, rank, size;
};
constexpr std::array<ChildNames, 4> kChildNames{{
    {"OMPI_COMM_WORLD_LOCAL_RANK", "OMPI_COMM_WORLD_LOCAL_SIZE", "OMPI_COMM_WORLD_RANK",
     "OMPI_COMM_WORLD_SIZE"},
    {"MPI_LOCALRANKID", "MPI_LOCALNRANKS", "PMI_RANK", "PMI_SIZE"},
    {"LOCAL_RANK", "LOCAL_WORLD_SIZE", "RANK", "WORLD_SIZE"},
    {"LOCAL_RANK", "LOCAL_SIZE", "RANK", "WORLD_SIZE"},
}};

Number tasks_on_each_node(const Environment& environment) {
  const auto counts = expand_tasks_per_node(environment.get("SLURM_STEP_TASKS_PER_NODE").value_or(""));
  if (!counts || counts->empty()) return std::nullopt;
  const auto [least, most] = std::minmax_element(counts->begin(), counts->end());
  if (*least != *most) return std::nullopt;
  return *least;
}

}  // namespace

StepId StepId::from(std::uint32_t job, std::uint32_t step) {
  switch (step) {
    case kBatchStep:
      return {job, Kind::batch, 0};
    case kInteractiveStep:
      return {job, Kind::interactive, 0};
    case kExternStep:
      return {job, Kind::external, 0};
    default:
      return {job, Kind::tasks, step};
  }
}

std::string StepId::text() const {
  const std::string beginning = std::to_string(job) + ".";
  switch (kind) {
    case Kind::tasks:
      return beginning + std::to_string(number);
    case Kind::batch:
      return beginning + "batch";
    case Kind::interactive:
      return beginning + "interactive";
    case Kind::external:
      return beginning + "extern";
  }
  return beginning;
}

std::vector<std::uint32_t> component_jobs(const Environment& environment) {
  std::vector<std::uint32_t> jobs;
  for (const Component& component : components(environment)) jobs.push_back(component.job);
  return jobs;
}

Result<StepPlace> read_step_place(const Environment& environment, Moment moment, Number step) {
  const Number job = number_of(environment, "SLURM_JOB_ID");
  if (!job) return missing("SLURM_JOB_ID");
  if (!step) step = environment.has("SLURM_STEP_ID") ? number_of(environment, "SLURM_STEP_ID") : kBatchStep;
  if (!step) return missing("SLURM_STEP_ID");

  StepPlace place;
  place.id = StepId::from(*job, *step);
  if (moment == Moment::in_task) {
    place.node = environment.get("SLURMD_NODENAME").value_or("");
    if (place.node.empty()) return missing("SLURMD_NODENAME");
  }
  if (place.id.kind != StepId::Kind::tasks) {
    place.master_node = place.node;
    return place;
  }
  const Number nodes = number_of(environment, "SLURM_STEP_NUM_NODES");
  if (!nodes || *nodes == 0) return missing("SLURM_STEP_NUM_NODES");
  place.nodes = *nodes;
  find_master(environment, moment, place);
  return place;
}

Result<StepFacts> read_step_facts(const Environment& environment, Number step) {
  auto place = read_step_place(environment, Moment::in_task, step);
  if (!place) return tl::unexpected(place.error());
  StepFacts facts;
  facts.place = std::move(*place);
  if (facts.place.id.kind != StepId::Kind::tasks) {
    facts.tasks_on_each_node = 1;
    return facts;
  }

  const Number rank = rank_of(environment, facts.place.id);
  const Number size = number_of(environment, "SLURM_STEP_NUM_TASKS");
  const Number local_rank = number_of(environment, "SLURM_LOCALID");
  if (!rank) return missing("SLURM_PROCID");
  if (!size) return missing("SLURM_STEP_NUM_TASKS");
  if (!local_rank) return missing("SLURM_LOCALID");
  facts.rank = *rank;
  facts.size = *size;
  facts.local_rank = *local_rank;
  facts.local_size = static_cast<std::uint32_t>(split(environment.get("SLURM_GTIDS").value_or(""), ',').size());
  facts.node_rank = node_rank_of(environment, facts.place);
  facts.tasks_on_each_node = tasks_on_each_node(environment);
  if (facts.rank >= facts.size || facts.local_rank >= facts.local_size)
    return fail(ErrorKind::invalid,
                "Slurm's variables contradict each other: rank " + std::to_string(facts.rank) + " of " +
                    std::to_string(facts.size) + ", local rank " + std::to_string(facts.local_rank) + " of " +
                    std::to_string(facts.local_size),
                "does a script change SLURM_* variables?");
  return facts;
}

Result<StepFacts> read_child_facts(const Environment& environment) {
  auto facts = read_step_facts(environment);
  if (!facts) return facts;
  if (facts->local_size != 1)
    return fail(ErrorKind::conflict,
                std::to_string(facts->local_size) + " tasks of step " + facts->place.id.text() +
                    " on one node start ranks, which would get the same places",
                "start one task on each node: --ntasks-per-node=1");
  for (const ChildNames& names : kChildNames) {
    const Number local_rank = number_of(environment, names.local_rank);
    const Number local_size = number_of(environment, names.local_size);
    if (!local_rank || !local_size || *local_rank >= *local_size) continue;
    facts->local_rank = *local_rank;
    facts->local_size = *local_size;
    const Number rank = number_of(environment, names.rank);
    const Number size = number_of(environment, names.size);
    if (rank && size && *rank < *size) {
      facts->rank = *rank;
      facts->size = *size;
    }
    return facts;
  }
  return fail(ErrorKind::invalid, "nothing tells this process its local rank",
              "--child is for what torchrun, mpirun and the like start: LOCAL_RANK and LOCAL_WORLD_SIZE");
}

StepFacts partial_step_facts(const Environment& environment) {
  StepFacts facts;
  facts.place.node = environment.get("SLURMD_NODENAME").value_or("");
  facts.rank = number_of(environment, "SLURM_PROCID").value_or(0);
  facts.local_rank = number_of(environment, "SLURM_LOCALID").value_or(0);
  return facts;
}

Result<std::vector<std::uint32_t>> expand_tasks_per_node(std::string_view text) {
  std::vector<std::uint32_t> counts;
  for (const std::string_view piece : split(text, ',')) {
    const auto halves = split_once(piece, '(');
    const Number count = parse_number<std::uint32_t>(halves ? halves->before : piece);
    Number times = 1;
    if (halves) {
      const bool is_closed = halves->after.starts_with('x') && halves->after.ends_with(')');
      times = is_closed ? parse_number<std::uint32_t>(halves->after.substr(1, halves->after.size() - 2))
                        : std::nullopt;
    }
    if (!count || !times || *times > kMaxNodes - counts.size())
      return fail(ErrorKind::invalid, "'" + std::string(text) + "' is not a list of tasks per node");
    counts.insert(counts.end(), *times, *count);
  }
  return counts;
}

}  // namespace pinstep
