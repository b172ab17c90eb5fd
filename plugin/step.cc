#include "plugin/step.h"

#include <sys/prctl.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>

#include "envtools/base/fd.h"
#include "envtools/base/variables.h"
#include "envtools/pin/use.h"
#include "launcher/prepare/end_step.h"
#include "launcher/prepare/prepare.h"
#include "launcher/rendezvous/addresses.h"
#include "launcher/step/offer.h"
#include "pinstep_config.h"
#include "plugin/batch_script.h"
#include "plugin/devices.h"
#include "plugin/failure.h"
#include "plugin/job_build.h"
#include "plugin/site.h"

namespace pinstep {
namespace {

// Of a site's settings file: it is read for every step, and slurmd's log is for others as well.
constexpr std::size_t kShownErrors = 5;

// ---- user_init

// The port this step derives, if it is for this slurmstepd to hold. Errors are the tasks' to find again.
std::optional<std::uint16_t> port_to_hold(const Host& host, const State& state) {
  const Environment environment = forget_rendezvous(host.step_environment());
  const auto pin = Pin::parse(environment.get(variable::kPin).value_or(""));
  const auto place = read_step_place(environment, Moment::before_tasks, host.step_number());
  if (!pin || !place || place->id.kind != StepId::Kind::tasks) return std::nullopt;
  // Where nobody can name rank 0's node, no task is told a port.
  if (!place->master_node || !host.has_first_rank()) return std::nullopt;
  // Two components of a heterogeneous step may share the node; only one can hold the port.
  if (place->master_component && place->master_component != host.job_id()) return std::nullopt;
  const Shape shape = effective_shape(pin->shape, host.step_argv());
  if (shape == Shape::none) return std::nullopt;
  const auto endpoint =
      choose_endpoint(environment, *place, shape, Offer::parse(environment.get(variable::kOffer).value_or("")),
                      state.site.settings.address);
  if (!endpoint || endpoint->source != PortSource::derived) return std::nullopt;
  return endpoint->port;
}

// ---- task_init

std::string own_program(const Settings& settings) {
  return settings.pinstep.empty() ? PINSTEP_BINDIR "/pinstep" : settings.pinstep;
}

std::string own_bin(const Settings& settings) {
  const std::string program = own_program(settings);
  return program.substr(0, program.rfind('/'));
}

Policies policies_in_force(const Pin& pin, const SiteSettings& site) {
  Settings settings = site.settings;
  settings.policies = pin.policies;
  for (const Assignment& enforced : site.enforced) (void)assign(settings, enforced, SetBy::site);
  return settings.policies;
}

Arrival arrival_of(const StepFacts& facts, const Environment& environment) {
  if (facts.place.id.kind != StepId::Kind::tasks) return Arrival::entry;
  const auto offer = Offer::parse(environment.get(variable::kOffer).value_or(""));
  return offer && offer->entry ? Arrival::entry : Arrival::inside;
}

TaskEnd task_end(const StepFacts& facts, const Environment& environment, const Settings& settings) {
  return {facts, settings.scancel.empty() ? SLURM_BINDIR "/scancel" : settings.scancel,
          step_ids(facts.place.id, environment), environment};
}

// Adds what only a batch script needs.
void finish_batch(const Pin& pin, const std::vector<std::string>& argv, const std::string& bin,
                  PreparedTask& task) {
  // Inherited by every srun of the script; an explicit --gpu-bind still wins (design fact 10).
  if (pin.gpu_share && !task.environment.has("SLURM_GPU_BIND") && devices_are_constrained(task.environment))
    task.environment.set("SLURM_GPU_BIND", "none");
  if (!argv.empty() && needs_activate_line(argv[0]))
    task.warnings.push_back(
        "this script runs in a login shell, which may reset PATH for the script itself, not for its "
        "steps; put this line into it: eval \"$(" +
        bin + "/pinstep activate)\"");
}

// Knows whether it is being asked, so that a task that takes too long can say what it waits for.
class WatchedNameService final : public NameService {
 public:
  Result<std::vector<std::string>> addresses(const std::string& host) override {
    is_asked_ = true;
    auto found = names_.addresses(host);
    is_asked_ = false;
    return found;
  }
  bool is_asked() const { return is_asked_; }

 private:
  SystemNameService names_;
  std::atomic<bool> is_asked_{false};
};

Result<PreparedTask> prepare(const Host& host, const State& state, const Environment& environment,
                             const StepFacts& facts, const Pin& pin, NameService& names) {
  SystemClock clock;
  TaskRequest request;
  request.environment = environment;
  request.facts = facts;
  request.pin = pin;
  request.pin.policies = policies_in_force(pin, state.site);
  request.argv = host.step_argv();
  request.arrival = arrival_of(facts, environment);
  request.trust = {::getuid(), state.site.settings.trusted_uids};
  request.own_bin = own_bin(state.site.settings);
  request.address_pattern = state.site.settings.address;
  request.enoent_wait = state.site.settings.enoent_wait;
  auto task = prepare_task(request, clock, &names);
  if (task) task->environment.set(variable::kStepPlugin, PINSTEP_VERSION);
  if (task && facts.place.id.kind == StepId::Kind::batch)
    finish_batch(pin, request.argv, request.own_bin, *task);
  return task;
}

Result<void> hand_over(Host& host, const Environment& before, const Environment& after) {
  for (const Edit& edit : diff(before, after)) {
    const auto done =
        edit.op == EditOp::set ? host.set_in_task(edit.name, edit.value) : host.unset_in_task(edit.name);
    if (!done) return done;
  }
  return {};
}

Error too_slow(const Settings& settings, const Pin& pin, const WatchedNameService& names) {
  std::string hint;
  if (names.is_asked())
    hint = "does this node's name service answer?";
  else if (const auto pinned = pin.prefix_for(own_platform()))
    hint = "does the file system of '" + pinned->prefix + "' answer?";
  return {ErrorKind::timed_out,
          "preparing the task took longer than " + std::to_string(settings.task_timeout.count()) + " s", hint};
}

}  // namespace

void open_step(const Host& host, State& state) {
  load_site(state);
  const std::vector<Error>& errors = state.site.errors;
  const std::size_t shown = std::min(errors.size(), kShownErrors);
  for (std::size_t i = 0; i < shown; ++i) host.log("pinstep: " + one_line(errors[i]));
  if (errors.size() > shown) host.log("pinstep: … and " + std::to_string(errors.size() - shown) + " more");
}

void hold_step_port(const Host& host, State& state) {
  // A second call comes from a plugstack.conf that names the plugin twice.
  if (state.switched_off || state.port || state.deferred_error) return;
  const auto number = port_to_hold(host, state);
  if (!number) return;
  auto port = hold_port(*number);
  if (port) {
    state.port = std::move(*port);
    return;
  }
  state.deferred_error = port.error();
  state.deferred_error->hint = "run the step again, or set MASTER_PORT to a free port";
}

void prepare_step_task(Host& host, const State& state) {
  const Environment environment = host.step_environment();
  if (state.switched_off) return;
  ::prctl(PR_SET_NAME, "pinstep");

  const auto facts = read_step_facts(environment, host.step_number());
  if (!facts)
    end_task(facts.error(), task_end(partial_step_facts(environment), environment, state.site.settings));
  const TaskEnd end = task_end(*facts, environment, state.site.settings);
  const auto pin = Pin::parse(environment.get(variable::kPin).value_or(""));
  if (!pin) end_task(pin.error(), end);
  if (state.deferred_error) end_task(*state.deferred_error, end);
  // Before the deadline begins: building takes what it takes, and the job's time limit counts.
  if (pin->build_in_job && facts->place.id.kind == StepId::Kind::batch)
    if (const auto built = build_in_job(own_program(state.site.settings), *pin, environment); !built)
      end_task(built.error(), end);

  WatchedNameService names;
  const auto task = [&]() -> Result<PreparedTask> {
    const Deadline deadline(state.site.settings.task_timeout,
                            [&] { end_task(too_slow(state.site.settings, *pin, names), end); });
    auto prepared = prepare(host, state, environment, *facts, *pin, names);
    if (!prepared) return prepared;
    if (facts->rank == 0) note_job(*pin, environment);
    if (const auto done = hand_over(host, environment, prepared->environment); !done)
      return tl::unexpected(done.error());
    return prepared;
  }();
  if (!task) end_task(task.error(), end);
  for (const std::string& warning : task->warnings)
    write_message(STDERR_FILENO, "pinstep: warning: " + warning + "\n");
}

void abandon_step_task(const Host& host, const State& state, const char* what) noexcept {
  try {
    const Environment environment = host.step_environment();
    const Error error{ErrorKind::os, std::string("internal error: ") + what, ""};
    const auto facts = read_step_facts(environment, host.step_number());
    end_task(error,
             task_end(facts ? *facts : partial_step_facts(environment), environment, state.site.settings));
  } catch (...) {
    write_message(STDERR_FILENO,
                  "pinstep: error: internal error while ending a task after an internal error\n");
  }
  ::_exit(kOwnFailure);
}

}  // namespace pinstep
