// pinstep-launch: runs a program as one rank of a Slurm step, in its environment. It prepares and execs;
// the program takes its place, so signals and exit codes need no forwarding.
//
// In a step that the plugin prepared it only gives the rank its place (place.h). Elsewhere (a cluster without
// the plugin) it does first what the plugin would have done; what it cannot do is in pinstep-launch(1).
#include <fcntl.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <cstdio>

#include "envtools/base/fd.h"
#include "envtools/base/process.h"
#include "envtools/base/standard_output.h"
#include "envtools/base/text.h"
#include "envtools/base/variables.h"
#include "envtools/config/files.h"
#include "envtools/pin/resolve.h"
#include "envtools/pin/use.h"
#include "launcher/launch/draw_map.h"
#include "launcher/launch/find_map.h"
#include "launcher/launch/options.h"
#include "launcher/launch/place.h"
#include "launcher/launch/verify.h"
#include "launcher/mapfile/show_map.h"
#include "launcher/prepare/end_step.h"
#include "launcher/prepare/prepare.h"
#include "launcher/rendezvous/port.h"
#include "pinstep_config.h"

namespace pinstep {
namespace {

// All tasks of a step have the same command line: one of them speaks.
int usage_error(const Error& error) {
  if (partial_step_facts(process_environment()).rank != 0) return 2;
  std::fprintf(stderr, "pinstep-launch: error: %s\n", error.cause.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "pinstep-launch: hint: %s\n", error.hint.c_str());
  return 2;
}

int end(const Error& error, const StepFacts& facts) {
  const Verdict what = verdict(error, facts, Values::of_this_task);
  SystemClock clock;
  if (what.wait.count() > 0) clock.sleep(what.wait);
  if (what.speaks) write_message(STDERR_FILENO, failure_line(error, facts.place.node));
  if (what.ends_step) {
    clock.sleep(kTimeToBeHeard);
    const Environment environment = process_environment();
    end_step(SLURM_BINDIR "/scancel", step_ids(facts.place.id, environment), environment);
  }
  return kOwnFailure;
}

// A program that is not there is the same for all tasks of a node; another error may be one task's own.
// The step goes on, as it does where srun cannot start a program.
int run_program(const std::vector<std::string>& program, const Environment& environment,
                const StepFacts& facts) {
  const Error error = exec({program, environment});
  const bool is_same_for_all = error.kind == ErrorKind::not_found || error.kind == ErrorKind::refused;
  if (facts.local_rank == 0 || !is_same_for_all)
    write_message(STDERR_FILENO, failure_line(error, facts.place.node));
  return exec_exit_code(error);
}

// The pin that --env-spec names, else the one that travels with the job; nothing for neither or `none`.
Result<std::optional<Pin>> find_pin(const LaunchOptions& options, const Environment& environment,
                                    const Settings& settings) {
  if (options.env_spec) {
    ResolveRequest request;
    request.env = *options.env_spec;
    request.directory = working_directory();
    request.trust = {::getuid(), settings.trusted_uids};
    request.policies = settings.policies;
    return resolve(request);
  }
  const auto text = environment.get(variable::kPin);
  if (!text || text->empty()) return std::optional<Pin>();
  auto pin = Pin::parse(*text);
  if (!pin) return tl::unexpected(pin.error());
  return std::optional<Pin>(std::move(*pin));
}

// Rank 0 holds a derived port from here on: the descriptor stays open through exec, so that the program
// finds it free and nobody else does.
Result<void> hold_for_program(const PreparedTask& task, const StepFacts& facts) {
  if (task.shape == Shape::none || facts.rank != 0 || task.port_source != PortSource::derived) return {};
  auto port = hold_port(task.port);
  if (!port) return tl::unexpected(port.error());
  return keep_through_exec(std::move(port->socket));
}

// What the program is to the step: by its name, or by the shape that the user or the job's pin says.
Program program_kind(const LaunchOptions& options, const Environment& environment) {
  if (options.is_child) return Program::rank;
  const auto pin = Pin::parse(environment.get(variable::kPin).value_or(""));
  const Shape asked = options.shape.value_or(pin ? pin->shape : Shape::automatic);
  if (asked == Shape::none) return Program::rank;
  return effective_shape(asked, options.program) == Shape::rank ? Program::rank : Program::starts_them;
}

// The last step before the program: what the environment is now decides what is unset in it. Values of a
// launcher around this one are not the user's.
int run_placed(const LaunchOptions& options, Environment environment, const StepFacts& facts) {
  SystemClock clock;
  environment = forget_recorded(std::move(environment), variable::kStepPlace);
  const Placement placement =
      place_rank(options, environment, facts, program_kind(options, environment), clock);
  if (options.is_strict && !placement.problems.empty()) return end(placement.problems.front(), facts);
  for (const std::string& message : placement.messages) write_message(STDERR_FILENO, message);
  for (const auto& [name, value] : placement.variables) environment.set(name, value);
  if (!placement.variables.empty())
    environment.set(variable::kStepPlace, set_record(facts.place.id, placement.variables));
  if (options.verifies)
    return run_program(verify_command(options.program, placement.map, facts.local_rank), environment, facts);
  return run_program(options.program, environment, facts);
}

// Without a step a node has no name but the kernel's.
Result<void> draw_dry_map(const LaunchOptions& options, const NodeMap& map) {
  if (options.picture.empty()) return {};
  struct utsname host {};
  ::uname(&host);
  const auto cpus = options.cpus ? Bits::parse(*options.cpus) : std::nullopt;
  return draw_map(options, map, cpus, host.nodename, process_environment());
}

int print_map(const LaunchOptions& options) {
  const auto map = dry_run(options, process_environment());
  const auto drawn = map ? draw_dry_map(options, *map) : tl::unexpected(map.error());
  if (!drawn) {
    std::fprintf(stderr, "pinstep-launch: error: %s\n", one_line(drawn.error()).c_str());
    return kOwnFailure;
  }
  std::fputs((options.json ? map_json(*map, "") : show_map(*map)).c_str(), stdout);
  return 0;
}

// What needs no step.
int tell(const LaunchOptions& options) {
  if (options.action == LaunchOptions::Action::dry_run) return print_map(options);
  if (options.action == LaunchOptions::Action::help)
    std::fputs(kLaunchUsage, stdout);
  else
    std::printf("pinstep-launch %s\n", PINSTEP_VERSION);
  return 0;
}

// Whether the process was started with this variable; true where that cannot be read.
bool was_started_with(pid_t process, std::string_view name) {
  const UniqueFd file(::open(("/proc/" + std::to_string(process) + "/environ").c_str(), O_RDONLY | O_CLOEXEC));
  if (!file.valid()) return true;
  std::string text(1, '\0');
  char block[4096];
  for (ssize_t got = 0; (got = ::read(file.get(), block, sizeof block)) > 0;)
    text.append(block, static_cast<std::size_t>(got));
  return text.find('\0' + std::string(name) + '=') != std::string::npos;
}

// torchrun gives its ranks one thread each where its user has said nothing.
Environment forget_torchruns_threads(Environment environment) {
  constexpr std::string_view name = "OMP_NUM_THREADS";
  if (environment.has("TORCHELASTIC_RUN_ID") && environment.get(name) == "1" &&
      !was_started_with(::getppid(), name))
    environment.unset(name);
  return environment;
}

// A rank that a task has started: environment and rendezvous are the task's and what it was told.
int launch_child(const LaunchOptions& options) {
  const Environment environment = forget_torchruns_threads(process_environment());
  const auto facts = read_child_facts(environment);
  if (!facts) return end(facts.error(), partial_step_facts(environment));
  return run_placed(options, environment, *facts);
}

int launch(const LaunchOptions& options) {
  const Environment environment = process_environment();
  const auto facts = read_step_facts(environment);
  if (!facts) return end(facts.error(), partial_step_facts(environment));
  const bool is_prepared = environment.get(variable::kStepId) == facts->place.id.text();
  if (is_prepared && !options.env_spec && !options.shape) return run_placed(options, environment, *facts);

  const auto site = load_user_settings(environment, {});
  if (!site) return end(site.error(), *facts);
  const Settings& settings = site->settings;
  const auto pin = find_pin(options, environment, settings);
  if (!pin) return end(pin.error(), *facts);
  TaskRequest request;
  request.environment = environment;
  request.facts = *facts;
  request.argv = options.program;
  // Without the plugin this is where the environment enters the job, the first time.
  request.arrival = environment.has(variable::kStepId) ? Arrival::inside : Arrival::entry;
  request.values = Values::of_this_task;
  request.trust = {::getuid(), settings.trusted_uids};
  request.own_bin = own_program_directory();
  request.address_pattern = settings.address;
  request.enoent_wait = settings.enoent_wait;
  if (*pin) request.pin = **pin;
  if (options.shape) request.pin.shape = *options.shape;
  if (options.env_spec == "none") request.environment = leave(forget_rendezvous(environment));

  SystemClock clock;
  const auto task = *pin ? prepare_task(request, clock, nullptr) : prepare_rendezvous(request, nullptr);
  if (!task) return end(task.error(), *facts);
  if (*pin && facts->rank == 0) note_job(**pin, environment);
  // In a step that was prepared before, whoever did that holds the port.
  if (!is_prepared)
    if (const auto held = hold_for_program(*task, *facts); !held) return end(held.error(), *facts);
  for (const std::string& warning : task->warnings)
    write_message(STDERR_FILENO, "pinstep: warning: " + warning + "\n");
  return run_placed(options, task->environment, *facts);
}

}  // namespace
}  // namespace pinstep

int main(int argc, char** argv) {
  using namespace pinstep;
  const auto options = parse_launch_options({argv + 1, argv + argc});
  if (!options) return usage_error(options.error());
  if (options->action == LaunchOptions::Action::launch)
    return options->is_child ? launch_child(*options) : launch(*options);
  return end_output("pinstep-launch", tell(*options), kOwnFailure);
}
