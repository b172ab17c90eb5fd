#include "launcher/rendezvous/rendezvous.h"

#include <algorithm>
#include <array>

#include "envtools/base/text.h"
#include "envtools/base/variables.h"
#include "launcher/rendezvous/addresses.h"
#include "launcher/rendezvous/launch_words.h"

namespace pinstep {
namespace {

constexpr std::array<std::string_view, 14> kRendezvousNames{
    "MASTER_ADDR",     "MASTER_PORT",    "RANK",   "WORLD_SIZE", "LOCAL_RANK",    "LOCAL_WORLD_SIZE",
    "NODE_RANK",       "GROUP_RANK",     "NNODES", "PET_NNODES", "PET_NODE_RANK", "PET_NPROC_PER_NODE",
    "PET_MASTER_ADDR", "PET_MASTER_PORT"};
constexpr std::string_view kRecordSpecial = ";=";

// Programs that an MPI launcher starts with srun, one per node, to start the real ranks.
constexpr std::array<std::string_view, 14> kLauncherDaemons{
    "orted",   "orterun",       "prted",           "prte",      "prun",     "prterun",    "mpirun",
    "mpiexec", "mpiexec.hydra", "hydra_pmi_proxy", "pmi_proxy", "mpispawn", "mpirun_rsh", "hydra_bstrap_proxy",
};

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }

// The program behind pinstep-launch and its options (launch/options.h), if it is in front.
std::vector<std::string> program_of(const std::vector<std::string>& argv) {
  if (argv.empty() || base_name(argv[0]) != "pinstep-launch") return argv;
  auto word = argv.begin() + 1;
  for (; word != argv.end() && word->starts_with('-'); ++word) {
    if (*word == "--") {
      ++word;
      break;
    }
    const bool takes_next = std::find(kLaunchOptionsWithValue.begin(), kLaunchOptionsWithValue.end(), *word) !=
                            kLaunchOptionsWithValue.end();
    if (takes_next && word + 1 != argv.end()) ++word;
  }
  return {word, argv.end()};
}

struct EndpointNames {
  std::string_view address;
  std::string_view port;
};

EndpointNames endpoint_names(Shape shape) {
  if (shape == Shape::torchrun) return {"PET_MASTER_ADDR", "PET_MASTER_PORT"};
  return {"MASTER_ADDR", "MASTER_PORT"};
}

// The first port of "12003-12004" or "12003,12007-12008".
std::optional<std::uint16_t> first_reserved_port(const Environment& environment) {
  const std::string_view ports = environment.get("SLURM_STEP_RESV_PORTS").value_or("");
  const auto port = parse_number<std::uint16_t>(ports.substr(0, ports.find_first_of("-,")));
  return port == std::optional<std::uint16_t>(0) ? std::nullopt : port;
}

// Also for torchrun's own environment, MASTER_ADDR and MASTER_PORT of the user are what he means.
std::optional<std::string_view> user_value(const Environment& environment, std::string_view name,
                                           std::string_view common_name) {
  if (const auto value = environment.get(name)) return value;
  return environment.get(common_name);
}

unsigned gpus_on_node(const Environment& environment) {
  if (const auto count = parse_number<unsigned>(environment.get("SLURM_GPUS_ON_NODE").value_or("")))
    return *count;
  const std::string_view devices = environment.get("CUDA_VISIBLE_DEVICES").value_or("");
  return devices.empty() ? 0 : static_cast<unsigned>(split(devices, ',').size());
}

// A value of ours, and for how many tasks of the step it is the same.
struct Told {
  std::string_view name;
  std::string value;
  bool same_for_all = true;
  bool must_agree = true;  // with the user's value; false: the user may choose
};

std::vector<Told> identity(const Environment& environment, const StepFacts& facts, Shape shape) {
  const bool one_task = facts.size == 1;
  const bool one_node = facts.is_single_node();
  const auto text = [](std::uint32_t number) { return std::to_string(number); };
  if (shape == Shape::rank)
    return {
        {"RANK", text(facts.rank), one_task},
        {"WORLD_SIZE", text(facts.size)},
        {"LOCAL_RANK", text(facts.local_rank), facts.tasks_on_each_node == 1u},
        {"LOCAL_WORLD_SIZE", text(facts.local_size), facts.tasks_on_each_node.has_value()},
        {"NODE_RANK", text(facts.node_rank), one_node},
        {"GROUP_RANK", text(facts.node_rank), one_node},
    };
  if (shape == Shape::torchrun) {
    const unsigned processes = std::max(1u, gpus_on_node(environment));
    return {
        {"PET_NNODES", text(facts.place.nodes), true, false},  // a range is torchrun's elastic mode
        {"PET_NODE_RANK", text(facts.node_rank), one_node},
        {"PET_NPROC_PER_NODE", text(processes), true, false},
    };
  }
  if (shape == Shape::spawn)
    return {{"NODE_RANK", text(facts.node_rank), one_node}, {"NNODES", text(facts.place.nodes)}};
  return {};
}

tl::unexpected<Error> contradiction(const Told& told, std::string_view users, const StepFacts& facts) {
  return fail(ErrorKind::conflict,
              std::string(told.name) + "=" + std::string(users) + " is set in the environment, and in step " +
                  facts.place.id.text() +
                  (told.same_for_all ? " it is " + told.value : " it differs from task to task"),
              "unset " + std::string(told.name));
}

Result<void> check_one_task_per_node(const StepFacts& facts, Shape shape) {
  if (shape == Shape::rank || facts.tasks_on_each_node == 1u) return {};
  return fail(ErrorKind::conflict,
              "a program that starts the ranks of its node itself needs one task per node, and step " +
                  facts.place.id.text() + " has " + std::to_string(facts.size) + " tasks on " +
                  std::to_string(facts.place.nodes) + (facts.is_single_node() ? " node" : " nodes"),
              "add --ntasks=" + std::to_string(facts.place.nodes) + " --ntasks-per-node=1");
}

}  // namespace

std::uint16_t derived_port(const StepId& id, std::uint32_t restarts) {
  const std::string start_of_job = std::to_string(id.job) + "/" + std::to_string(restarts);
  const std::uint32_t start = fnv1a(start_of_job) % kDerivedPortCount;
  return static_cast<std::uint16_t>(kDerivedPortLow + (start + id.number) % kDerivedPortCount);
}

Result<Endpoint> choose_endpoint(const Environment& environment, const StepPlace& place, Shape shape,
                                 const std::optional<Offer>& offer, std::string_view address_pattern) {
  const EndpointNames names = endpoint_names(shape);
  const std::optional<std::string>& master = place.master_node;
  const bool offer_is_masters = offer && master && offer->node == *master;

  Endpoint endpoint;
  if (const auto address = user_value(environment, names.address, "MASTER_ADDR")) {
    endpoint.address = std::string(*address);
  } else if (offer_is_masters && !offer->addresses.empty()) {
    endpoint.address = offer->addresses.front();
  } else if (master) {
    endpoint.address = node_host_name(address_pattern, *master);
    endpoint.address_is_name = true;
  }

  if (const auto port = user_value(environment, names.port, "MASTER_PORT")) {
    const auto number = parse_number<std::uint16_t>(*port);
    if (!number || *number == 0)
      return fail(ErrorKind::invalid,
                  std::string(environment.has(names.port) ? names.port : "MASTER_PORT") + "=" +
                      std::string(*port) + " is not a port",
                  "unset it, or give a number from 1 to 65535");
    endpoint.port = *number;
    endpoint.source = PortSource::user;
  } else if (const auto reserved = first_reserved_port(environment)) {
    endpoint.port = *reserved;
    endpoint.source = PortSource::reserved;
  } else if (offer_is_masters && offer->port != 0) {
    endpoint.port = offer->port;
    endpoint.source = PortSource::offered;
  } else {
    const auto restarts = parse_number<std::uint32_t>(environment.get("SLURM_RESTART_COUNT").value_or("0"));
    endpoint.port = derived_port(place.id, restarts.value_or(0));
    endpoint.source = PortSource::derived;
  }
  return endpoint;
}

Shape effective_shape(Shape asked, const std::vector<std::string>& argv) {
  const std::vector<std::string> program = program_of(argv);
  const std::string_view name = program.empty() ? std::string_view{} : base_name(program[0]);
  if (std::find(kLauncherDaemons.begin(), kLauncherDaemons.end(), name) != kLauncherDaemons.end())
    return Shape::none;
  if (asked != Shape::automatic) return asked;
  if (name != "torchrun") return Shape::rank;
  // A standalone run that inherits PET_NNODES waits for nodes that never come.
  const bool is_standalone = std::find(program.begin(), program.end(), "--standalone") != program.end();
  return is_standalone ? Shape::none : Shape::torchrun;
}

Result<Variables> rendezvous_variables(const Environment& environment, const StepFacts& facts, Shape shape,
                                       const Endpoint& endpoint, Values values) {
  Variables variables;
  if (shape == Shape::none) return variables;
  if (const auto fits = check_one_task_per_node(facts, shape); !fits) return tl::unexpected(fits.error());

  for (const Told& told : identity(environment, facts, shape)) {
    const auto users = environment.get(told.name);
    if (!users) {
      variables.emplace_back(told.name, told.value);
      continue;
    }
    const bool is_right = *users == told.value && (told.same_for_all || values == Values::of_this_task);
    if (told.must_agree && !is_right) return contradiction(told, *users, facts);
  }
  const EndpointNames names = endpoint_names(shape);
  if (endpoint.address && !environment.has(names.address))
    variables.emplace_back(names.address, *endpoint.address);
  if (endpoint.address && !environment.has(names.port))
    variables.emplace_back(names.port, std::to_string(endpoint.port));
  return variables;
}

std::string set_record(const StepId& id, const Variables& variables) {
  std::string record = id.text();
  for (const auto& [name, value] : variables)
    record.append(";")
        .append(percent_encode(name, kRecordSpecial))
        .append("=")
        .append(percent_encode(value, kRecordSpecial));
  return record;
}

Environment forget_recorded(Environment environment, std::string_view record_name) {
  const std::string record(environment.get(record_name).value_or(""));
  for (const std::string_view field : split(record, ';')) {
    const auto halves = split_once(field, '=');
    if (!halves) continue;
    const auto name = percent_decode(halves->before);
    const auto value = percent_decode(halves->after);
    if (name && value && environment.get(*name) == std::string_view(*value)) environment.unset(*name);
  }
  environment.unset(record_name);
  return environment;
}

Environment forget_rendezvous(Environment environment) {
  environment = forget_recorded(std::move(environment), variable::kStepSet);
  for (const std::string_view name : kRendezvousNames)
    if (environment.get(name) == "") environment.unset(name);
  return environment;
}

}  // namespace pinstep
