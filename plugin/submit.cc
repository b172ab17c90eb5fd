#include "plugin/submit.h"

#include <limits.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>

#include "envtools/base/fd.h"
#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "envtools/base/variables.h"
#include "envtools/pin/pin.h"
#include "envtools/pin/use.h"
#include "launcher/rendezvous/addresses.h"
#include "launcher/rendezvous/rendezvous.h"
#include "launcher/step/nodelist.h"
#include "launcher/step/offer.h"
#include "pinstep_config.h"
#include "plugin/site.h"

namespace pinstep {
namespace {

// `pinstep resolve` has said what is wrong on standard error itself, when it ends with one of these.
constexpr int kResolveFailed = 1;
constexpr int kResolveUsage = 2;
constexpr std::string_view kAlreadySaid;

void say(std::string_view line) { write_message(STDERR_FILENO, "pinstep: " + std::string(line) + "\n"); }

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  ::gethostname(name, sizeof name - 1);
  const std::string_view full = name;
  return std::string(full.substr(0, full.find('.')));
}

// ---- resolving

std::string resolver(const State& state) {
  return state.site.settings.pinstep.empty() ? PINSTEP_BINDIR "/pinstep" : state.site.settings.pinstep;
}

// What is wrong is the program itself, not the environment that was asked for.
tl::unexpected<Error> broken_resolver(Error error) {
  error.hint = "the plugin calls this program to resolve --env-spec; a site sets another path with 'pinstep'";
  return tl::unexpected(std::move(error));
}

tl::unexpected<Error> broken_resolver(const Command& command, const std::string& what) {
  return broken_resolver({ErrorKind::os, "'" + command.argv[0] + " resolve' " + what, ""});
}

Result<std::string> resolve_in_child(const State& state, const Submission& submission,
                                     const Environment& environment) {
  Command command{{resolver(state), "resolve"}, environment};
  for (const std::string& argument : state.arguments) command.argv.push_back("--site=" + argument);
  if (submission.gpu_share) command.argv.push_back("--gpu-share");
  if (submission.lock) command.argv.push_back("--lock=" + *submission.lock);
  if (submission.build) command.argv.push_back("--build=" + *submission.build);
  if (submission.shape) command.argv.push_back("--shape=" + std::string(to_string(*submission.shape)));
  if (!submission.batch_step) command.argv.push_back("--no-batch-step");
  command.argv.insert(command.argv.end(), {"--", submission.spec});

  const auto result = run(command, Pin::kSizeLimit + 1);
  if (!result) return broken_resolver(result.error());
  if (result->signal != 0)
    return broken_resolver(command, "was ended by signal " + std::to_string(result->signal));
  if (result->exit_code == kResolveFailed || result->exit_code == kResolveUsage)
    return fail(ErrorKind::invalid, std::string(kAlreadySaid));
  if (result->exit_code != 0)
    return broken_resolver(command, "ended with exit code " + std::to_string(result->exit_code));
  std::string text(trim(result->output));
  if (const auto pin = Pin::parse(text); !pin)
    return broken_resolver(command, "printed no pin: " + pin.error().cause);
  return text;
}

// ---- srun's offer

// As srun reads it: '#' begins a comment, a line holds host lists, perhaps with '*COUNT'.
std::string first_of_host_file(const Environment& environment) {
  const auto path = environment.get("SLURM_HOSTFILE");
  if (!path) return {};
  const auto file = read_file(std::string(*path), 1 << 20, Links::followed);
  if (!file) return {};
  for (const std::string_view line : split(file->text, '\n')) {
    const std::string_view lists = trim(line.substr(0, line.find_first_of("#*")));
    if (lists.empty()) continue;
    const auto names = expand_node_list(lists.substr(0, lists.find_first_of(" \t")), 1);
    return names ? names->front() : std::string();
  }
  return {};
}

// A port that cannot be held is no reason to stop: the tasks then derive one.
Offer make_offer(State& state, const Environment& environment) {
  Offer offer;
  offer.node = environment.get("SLURMD_NODENAME").value_or("");
  if (offer.node.empty()) offer.node = host_name();
  SystemNameService names;
  offer.addresses = own_addresses(node_host_name(state.site.settings.address, offer.node), names);
  if (auto port = hold_port(0)) {
    offer.port = port->port;
    state.port = std::move(*port);
  }
  offer.entry = !environment.has("SLURM_JOB_ID");
  offer.first = first_of_host_file(environment);
  return offer;
}

// ---- acting

Result<Pin> kept_pin(const Environment& environment, const Submission& submission) {
  auto pin = Pin::parse(environment.get(variable::kPin).value_or(""));
  if (!pin) {
    pin.error().hint = "unset " + std::string(variable::kPin) + ", or name an environment with --env-spec";
    return pin;
  }
  pin->token = new_token();
  pin->gpu_share = pin->gpu_share || submission.gpu_share;
  pin->shape = submission.shape.value_or(pin->shape);
  return pin;
}

// Of steps without an environment whose ranks find each other.
Pin new_pin(const Submission& submission) {
  Pin pin;
  pin.kind = Pin::Kind::none;
  pin.token = new_token();
  pin.gpu_share = submission.gpu_share;
  pin.shape = *submission.shape;
  return pin;
}

Result<std::string> pin_text(const State& state, const Submission& submission, const Environment& environment,
                             Context context) {
  if (submission.act == Submission::Act::resolve) return resolve_in_child(state, submission, environment);
  if (submission.act == Submission::Act::meet) return new_pin(submission).text();
  // A step's own pin is not even read here: what is wrong with it, its tasks will say.
  if (context == Context::srun && !submission.shape) return std::string(*environment.get(variable::kPin));
  const auto pin = kept_pin(environment, submission);
  if (!pin) return tl::unexpected(pin.error());
  if (context != Context::srun) note_submission(*pin);
  if (context != Context::srun && !pin->prefixes.empty())
    say("the job inherits the environment '" + pin->prefixes.front().prefix + "'; --env-spec=none drops it");
  return pin->text();
}

Result<void> act_on(Host& host, State& state, const Submission& submission) {
  Environment environment = process_environment();
  const Context context = host.context();
  const bool acts = submission.act != Submission::Act::nothing && submission.act != Submission::Act::drop;
  if (!acts || state.switched_off) {
    // Another srun's offer must not pass for one of this srun, which makes none.
    environment.unset(variable::kOffer);
    if (submission.act == Submission::Act::drop) {
      environment = leave(forget_rendezvous(std::move(environment)));
      environment.unset(variable::kPin);
      // The job's own option would have an inner srun resolve it anew.
      environment.unset(environment_form(kEnvSpecOption));
      if (context != Context::srun) host.unset_for_job(variable::kPinJobControl);
    }
    replace_process_environment(environment);
    return {};
  }

  const auto text = pin_text(state, submission, environment, context);
  if (!text) return tl::unexpected(text.error());
  if (submission.act == Submission::Act::meet) environment = leave(forget_rendezvous(std::move(environment)));
  environment.set(variable::kPin, *text);
  if (context == Context::srun) {
    environment.set(variable::kOffer, make_offer(state, environment).text());
  } else {
    environment.unset(variable::kOffer);
    if (const auto done = host.set_for_job(variable::kPinJobControl, *text); !done) return done;
  }
  replace_process_environment(environment);
  return {};
}

// The components of a heterogeneous job share one pin.
Result<void> check_component(const OptionUse& option, std::string_view name) {
  if (!option.other_component()) return {};
  const std::string word = "--" + std::string(name);
  return fail(ErrorKind::conflict,
              "components of a heterogeneous job cannot differ: " + word + "=" +
                  option.value().value_or("(none given)") + " and " + word + "=" + *option.other_component(),
              "give one " + word + " for all, or submit two jobs");
}

// What --env-rendezvous says on this command line; what the job was given is in its pin.
Result<std::optional<Shape>> typed_shape(const State& state, const Environment& environment) {
  if (!state.rendezvous.is_typed(environment, kRendezvousOption)) return std::optional<Shape>();
  const std::string name = state.rendezvous.value().value_or("");
  const auto shape = parse_shape(name);
  if (!shape)
    return fail(ErrorKind::usage, "--env-rendezvous cannot be '" + name + "'",
                "it is auto, rank, torchrun, spawn or none");
  return shape;
}

}  // namespace

Result<Submission> decide(const State& state, const Environment& environment, Context context) {
  const bool is_typed = state.env_spec.is_typed(environment, kEnvSpecOption);
  const bool has_pin = !environment.get(variable::kPin).value_or("").empty();
  const std::string spec = state.env_spec.value().value_or("");

  Submission submission;
  submission.gpu_share = state.gpu_share.value().has_value();
  if (has_pin && !is_typed)
    submission.act = Submission::Act::keep;
  else if (spec == "none")
    submission.act = Submission::Act::drop;
  else if (state.env_spec.value())
    submission.act = Submission::Act::resolve;
  const auto shape = typed_shape(state, environment);
  if (!shape) return tl::unexpected(shape.error());
  submission.shape = *shape;
  const bool has_environment =
      submission.act == Submission::Act::keep || submission.act == Submission::Act::resolve;
  if (!has_environment && submission.shape && *submission.shape != Shape::none)
    submission.act = Submission::Act::meet;
  if (submission.act == Submission::Act::resolve) {
    submission.spec = spec;
    submission.lock = state.env_lock.value();
    submission.batch_step = context == Context::sbatch;
    // What was said of the job's own environment does not hold for a step's.
    if (context != Context::srun || state.env_build.is_typed(environment, kEnvBuildOption))
      submission.build = state.env_build.value();
  } else if (state.env_lock.is_typed(environment, kEnvLockOption) ||
             state.env_build.is_typed(environment, kEnvBuildOption)) {
    return fail(ErrorKind::usage,
                "--env-lock and --env-build say how --env-spec is resolved, and there is none",
                "add --env-spec");
  }

  if (!state.gpu_share.is_typed(environment, kGpuShareOption)) return submission;
  if (context == Context::srun)
    return fail(ErrorKind::usage, "--env-gpu-share acts on the steps of a batch job, not on srun's own",
                "give it to sbatch, or give srun --gpu-bind=none");
  if (submission.act == Submission::Act::nothing || submission.act == Submission::Act::drop)
    return fail(ErrorKind::usage, "--env-gpu-share needs an environment or a rendezvous",
                "add --env-spec or --env-rendezvous");
  return submission;
}

Result<void> submit(Host& host, State& state) {
  if (state.is_submitted) {
    if (const auto same = check_component(state.env_spec, kEnvSpecOption); !same) return same;
    return check_component(state.rendezvous, kRendezvousOption);
  }
  state.is_submitted = true;
  state.env_spec.submitted();
  state.rendezvous.submitted();

  const auto submission = decide(state, process_environment(), host.context());
  if (!submission) return tl::unexpected(submission.error());
  if (submission->act == Submission::Act::nothing && !process_environment().has(variable::kOffer)) return {};
  load_site(state);
  const bool asks = submission->act == Submission::Act::resolve || submission->act == Submission::Act::meet;
  if (state.switched_off && asks)
    return fail(ErrorKind::refused, std::string("pinstep is switched off on this host by ") + kDisableFile,
                "ask the site's administrators, or submit without --env-spec and --env-rendezvous");
  return act_on(host, state, *submission);
}

void refuse(const Error& error) {
  if (error.cause != kAlreadySaid) {
    say("error: " + error.cause);
    if (!error.hint.empty()) say("hint: " + error.hint);
  }
  std::exit(1);
}

}  // namespace pinstep
