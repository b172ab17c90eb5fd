#include "launcher/prepare/prepare.h"

#include <algorithm>

#include "envtools/base/variables.h"
#include "launcher/step/offer.h"

namespace pinstep {
namespace {

// Long enough for local rank 0 to end the step (about 0.5 s), short enough not to be noticed.
constexpr Clock::Milliseconds kOthersWait{2000};

// Warns where this node cannot reach the master node by its name; the program would only hang.
void check_name(const Endpoint& endpoint, const StepFacts& facts, NameService* names,
                std::vector<std::string>& warnings) {
  const StepPlace& place = facts.place;
  if (facts.local_rank != 0) return;
  if (names == nullptr || !endpoint.address_is_name || place.master_node == place.node) return;
  const auto addresses = names->addresses(*endpoint.address);
  const std::string name = "'" + *endpoint.address + "', the name of rank 0's node,";
  constexpr auto hint = " (a site sets another name with 'address' in pinstep.conf, a user sets MASTER_ADDR)";
  if (!addresses || addresses->empty())
    warnings.push_back(place.node + ": " + name + " has no address here" + hint);
  else if (std::all_of(addresses->begin(), addresses->end(), is_loopback))
    warnings.push_back(place.node + ": " + name + " is this node itself here" + hint);
}

// Slurm drops a longer variable with a message and starts the program without it.
Result<void> check_lengths(const Environment& before, const Environment& after) {
  constexpr std::size_t limit = 128 * 1024;  // bytes of "NAME=value" and its NUL: execve(2), MAX_ARG_STRLEN
  for (const Edit& edit : diff(before, after))
    if (edit.name.size() + edit.value.size() + 2 > limit)
      return fail(ErrorKind::corrupt,
                  "the environment's variable " + std::string(edit.name.substr(0, 64)) + " would have " +
                      std::to_string(edit.value.size()) + " bytes, more than a program can be started with",
                  "shorten it in the environment or in the job script");
  return {};
}

Result<void> add_rendezvous(const TaskRequest& request, NameService* names, PreparedTask& task) {
  const StepFacts& facts = request.facts;
  if (facts.place.id.kind != StepId::Kind::tasks) return {};
  task.shape = effective_shape(request.pin.shape, request.argv);
  if (task.shape == Shape::none) return {};

  const auto offer = Offer::parse(task.environment.get(variable::kOffer).value_or(""));
  const auto endpoint =
      choose_endpoint(task.environment, facts.place, task.shape, offer, request.address_pattern);
  if (!endpoint) return tl::unexpected(endpoint.error());
  const auto variables = rendezvous_variables(task.environment, facts, task.shape, *endpoint, request.values);
  if (!variables) return tl::unexpected(variables.error());

  for (const auto& [name, value] : *variables) task.environment.set(name, value);
  task.environment.set(variable::kStepSet, set_record(facts.place.id, *variables));
  task.port_source = endpoint->source;
  task.port = endpoint->port;
  check_name(*endpoint, facts, names, task.warnings);
  if (!endpoint->address && facts.rank == 0)
    task.warnings.push_back(
        "no task can know rank 0's node in this distribution, so MASTER_ADDR is not set (use --mpi=pmix, "
        "or SLURM_HOSTFILE instead of --nodelist)");
  return {};
}

}  // namespace

Result<PreparedTask> prepare_task(const TaskRequest& request, Clock& clock, NameService* names) {
  if (request.pin.kind == Pin::Kind::none) return prepare_rendezvous(request, names);
  const auto pinned = request.pin.prefix_for(own_platform());
  if (!pinned) return tl::unexpected(pinned.error());
  auto activation = load_activation(pinned->prefix, request.trust, clock, request.enoent_wait);
  if (!activation) {
    // It was there when the job was submitted.
    if (activation.error().kind == ErrorKind::not_found)
      activation.error().hint = request.pin.build_in_job
                                    ? "--env-build=job builds it in the batch script's step only"
                                    : "does this node see the file system it is on, and is it still there?";
    return tl::unexpected(activation.error());
  }
  if (activation->id() != pinned->id && request.pin.kind == Pin::Kind::store)
    return fail(ErrorKind::corrupt, "'" + pinned->prefix + "' holds another environment than the job's",
                "build it again");

  PreparedTask task;
  task.environment = forget_rendezvous(request.environment);
  task.environment = enter(std::move(task.environment), {*activation, pinned->prefix, request.pin.policies,
                                                         request.arrival, request.own_bin});
  if (const auto done = add_rendezvous(request, names, task); !done) return tl::unexpected(done.error());
  task.environment.set(variable::kStepId, request.facts.place.id.text());
  if (const auto fits = check_lengths(request.environment, task.environment); !fits)
    return tl::unexpected(fits.error());
  return task;
}

Result<PreparedTask> prepare_rendezvous(const TaskRequest& request, NameService* names) {
  PreparedTask task;
  task.environment = forget_rendezvous(request.environment);
  if (const auto done = add_rendezvous(request, names, task); !done) return tl::unexpected(done.error());
  task.environment.set(variable::kStepId, request.facts.place.id.text());
  return task;
}

Verdict verdict(const Error& error, const StepFacts& facts, Values values) {
  // Behind a wrapper script a contradiction may be one task's own.
  const bool seen_by_all =
      !is_node_error(error.kind) && !(error.kind == ErrorKind::conflict && values == Values::of_this_task);
  if (seen_by_all) return {facts.rank == 0, false, {}};

  const bool may_be_alone =
      error.kind == ErrorKind::os || error.kind == ErrorKind::timed_out || error.kind == ErrorKind::conflict;
  const bool ends_step = facts.size > 1 && (may_be_alone || !facts.is_single_node());
  if (facts.local_rank == 0) return {true, ends_step, {}};
  if (may_be_alone) return {true, ends_step, kOthersWait};
  return {};
}

std::string failure_line(const Error& error, std::string_view node) {
  std::string line = "pinstep: error: ";
  if (is_node_error(error.kind)) line.append(node).append(": ");
  return line + one_line(error) + "\n";
}

}  // namespace pinstep
