#include "plugin/submit.h"

#include <unistd.h>

#include "envtools/base/fd.h"
#include "envtools/base/process.h"
#include "envtools/base/variables.h"
#include "envtools/pin/pin.h"
#include "launcher/rendezvous/port.h"
#include "launcher/step/offer.h"
#include "tests/unit/support/child.h"
#include "tests/unit/support/files.h"
#include "tests/unit/support/host.h"
#include "tests/unit/support/results.h"

namespace pinstep {

inline void PrintTo(const Submission& submission, std::ostream* out) {
  constexpr const char* kActs[] = {"nothing", "keep", "resolve", "drop", "meet"};
  *out << kActs[static_cast<int>(submission.act)] << " '" << submission.spec << "'"
       << " lock " << submission.lock.value_or("-") << " build " << submission.build.value_or("-")
       << (submission.gpu_share ? " sharing GPUs" : "") << " shape "
       << (submission.shape ? to_string(*submission.shape) : "-");
}

namespace {

using testing::StartsWith;
using testing_support::ChildEnd;
using testing_support::FailsWith;
using testing_support::FakeHost;
using testing_support::Holds;
using testing_support::in_child;
using testing_support::TemporaryDirectory;
using testing_support::write_file;
using Act = Submission::Act;

std::string some_pin() {
  Pin pin;
  pin.token = "0123456789abcdef";
  pin.prefixes = {{std::string(own_platform()), "-", "/env"}};
  return pin.text();
}

Environment with_pin(const std::string& pin) {
  Environment environment;
  environment.set(variable::kPin, pin);
  return environment;
}

// ---- what is to be done -----------------------------------------------------------------------------

enum class Pinned { no, yes };
enum class Option { absent, inherited, typed, typed_over_inherited };

State state_of(Option spec, const char* value, Option share = Option::absent) {
  State state;
  if (spec == Option::inherited || spec == Option::typed_over_inherited) state.env_spec.called("/inherited");
  if (spec == Option::typed || spec == Option::typed_over_inherited) state.env_spec.called(value);
  if (share != Option::absent) state.gpu_share.called("");
  return state;
}

Environment environment_of(Pinned pinned, Option spec, Option share) {
  Environment environment;
  if (pinned == Pinned::yes) environment.set(variable::kPin, some_pin());
  if (spec == Option::inherited || spec == Option::typed_over_inherited)
    environment.set(environment_form(kEnvSpecOption), "/inherited");
  if (share == Option::inherited) environment.set(environment_form(kGpuShareOption), "");
  return environment;
}

struct DecideCase {
  const char* what;
  Pinned pinned;
  Option spec;
  const char* value;
  Submission expected;
  Option share = Option::absent;
};

TEST(Decide, FollowsTheOptionAndThePin) {
  using enum Option;
  const DecideCase cases[] = {
      {"neither option nor pin", Pinned::no, absent, "", {Act::nothing, "", false}},
      {"a pin came with the job", Pinned::yes, absent, "", {Act::keep, "", false}},
      {"pin and option came with the job", Pinned::yes, inherited, "", {Act::keep, "", false}},
      {"typed outside", Pinned::no, typed, "/env", {Act::resolve, "/env", false, {}, {}, true}},
      {"typed where a pin is exported",
       Pinned::yes,
       typed,
       "/env",
       {Act::resolve, "/env", false, {}, {}, true}},
      {"typed inside a job",
       Pinned::yes,
       typed_over_inherited,
       "/env",
       {Act::resolve, "/env", false, {}, {}, true}},
      {"the option came, the pin did not",
       Pinned::no,
       inherited,
       "",
       {Act::resolve, "/inherited", false, {}, {}, true}},
      {"none outside", Pinned::no, typed, "none", {Act::drop, "", false}},
      {"none inside", Pinned::yes, typed_over_inherited, "none", {Act::drop, "", false}},
      {"none where a pin is exported", Pinned::yes, typed, "none", {Act::drop, "", false}},
      {"an empty spec", Pinned::no, typed, "", {Act::resolve, "", false, {}, {}, true}},
      {"shared GPUs", Pinned::no, typed, "/env", {Act::resolve, "/env", true, {}, {}, true}, typed},
      {"shared GPUs for an inherited pin", Pinned::yes, inherited, "", {Act::keep, "", true}, typed},
      {"shared GPUs, inherited", Pinned::yes, inherited, "", {Act::keep, "", true}, inherited},
      {"shared GPUs, inherited by a job without environment",
       Pinned::yes,
       typed_over_inherited,
       "none",
       {Act::drop, "", true},
       inherited},
  };
  for (const DecideCase& c : cases)
    EXPECT_THAT(
        decide(state_of(c.spec, c.value, c.share), environment_of(c.pinned, c.spec, c.share), Context::sbatch),
        Holds(c.expected))
        << c.what;
}

TEST(Decide, RefusesSharedGpusWhereTheyMakeNoSense) {
  using enum Option;
  EXPECT_THAT(decide(state_of(absent, "", typed), {}, Context::sbatch),
              FailsWith(ErrorKind::usage, "--env-gpu-share needs an environment or a rendezvous",
                        "add --env-spec or --env-rendezvous"));
  EXPECT_THAT(decide(state_of(typed, "none", typed), {}, Context::sbatch),
              FailsWith(ErrorKind::usage, "--env-gpu-share needs an environment or a rendezvous",
                        "add --env-spec or --env-rendezvous"));
  EXPECT_THAT(decide(state_of(typed, "/env", typed), {}, Context::srun),
              FailsWith(ErrorKind::usage, "--env-gpu-share acts on the steps of a batch job, not on srun's own",
                        "give it to sbatch, or give srun --gpu-bind=none"));
  EXPECT_THAT(decide(state_of(inherited, "", inherited), environment_of(Pinned::yes, inherited, inherited),
                     Context::srun),
              Holds(Submission{Act::keep, "", true}));
}

struct RendezvousCase {
  const char* what;
  Pinned pinned;
  Option spec;
  const char* value;
  Option rendezvous;
  const char* shape;
  Submission expected;
};

TEST(Decide, GivesARendezvousWithOrWithoutAnEnvironment) {
  using enum Option;
  const RendezvousCase cases[] = {
      {"with an environment",
       Pinned::no,
       typed,
       "/env",
       typed,
       "torchrun",
       {Act::resolve, "/env", false, {}, {}, true, Shape::torchrun}},
      {"alone", Pinned::no, absent, "", typed, "auto", {Act::meet, "", false, {}, {}, false, Shape::automatic}},
      {"in place of an environment",
       Pinned::yes,
       typed_over_inherited,
       "none",
       typed,
       "rank",
       {Act::meet, "", false, {}, {}, false, Shape::rank}},
      {"none, alone", Pinned::no, absent, "", typed, "none", {Act::nothing, "", false, {}, {}, false, Shape::none}},
      {"none of both", Pinned::yes, typed, "none", typed, "none", {Act::drop, "", false, {}, {}, false, Shape::none}},
      {"another than the pin's", Pinned::yes, inherited, "", typed, "spawn", {Act::keep, "", false, {}, {}, false, Shape::spawn}},
      {"what the pin has already", Pinned::yes, inherited, "", inherited, "", {Act::keep, "", false}},
      {"another environment than the job's, which had a shape",
       Pinned::yes,
       typed_over_inherited,
       "/env",
       inherited,
       "",
       {Act::resolve, "/env", false, {}, {}, true}},
  };
  for (const RendezvousCase& c : cases) {
    State state = state_of(c.spec, c.value);
    Environment environment = environment_of(c.pinned, c.spec, Option::absent);
    if (c.rendezvous == inherited) environment.set(environment_form(kRendezvousOption), "torchrun");
    state.rendezvous.called(c.rendezvous == inherited ? "torchrun" : c.shape);
    EXPECT_THAT(decide(state, environment, Context::sbatch), Holds(c.expected)) << c.what;
  }
}

TEST(Decide, NamesTheShapesThatThereAre) {
  State state = state_of(Option::typed, "/env");
  state.rendezvous.called("mpi");
  EXPECT_THAT(decide(state, {}, Context::srun),
              FailsWith(ErrorKind::usage, "--env-rendezvous cannot be 'mpi'",
                        "it is auto, rank, torchrun, spawn or none"));
}

TEST(Decide, TellsTheResolverWhetherABatchScriptFollows) {
  State state = state_of(Option::typed_over_inherited, "/env");
  state.env_build.called("job");
  Environment inherited = environment_of(Pinned::yes, Option::typed_over_inherited, Option::absent);
  inherited.set(environment_form(kEnvBuildOption), "job");
  // What sbatch was given for the job's environment says nothing of another one for a step.
  const auto step = decide(state, inherited, Context::srun);
  ASSERT_TRUE(step);
  EXPECT_FALSE(step->batch_step);
  EXPECT_EQ(step->build, std::nullopt);
  const auto job = decide(state, inherited, Context::sbatch);
  ASSERT_TRUE(job);
  EXPECT_TRUE(job->batch_step);
  EXPECT_EQ(job->build, "job");
  EXPECT_FALSE(decide(state, inherited, Context::salloc)->batch_step);
}

TEST(Decide, RefusesALockOrBuildPolicyForNothing) {
  using enum Option;
  const auto nothing_to_resolve = FailsWith(
      ErrorKind::usage, "--env-lock and --env-build say how --env-spec is resolved, and there is none",
      "add --env-spec");
  for (OptionUse State::*option : {&State::env_lock, &State::env_build}) {
    State alone;
    (alone.*option).called("x");
    EXPECT_THAT(decide(alone, {}, Context::sbatch), nothing_to_resolve);
    State none = state_of(typed, "none");
    (none.*option).called("x");
    EXPECT_THAT(decide(none, {}, Context::sbatch), nothing_to_resolve);
  }
  State inherited_option = state_of(inherited, "");
  inherited_option.env_build.called("job");
  Environment environment = environment_of(Pinned::yes, inherited, absent);
  environment.set(environment_form(kEnvBuildOption), "job");
  EXPECT_THAT(decide(inherited_option, environment, Context::srun), Holds(Submission{Act::keep, "", false}));
}

// ---- doing it: in a child, since the process's own environment changes ------------------------------

class Submit : public testing::Test {
 protected:
  // What `pinstep resolve` is here: it says what it was called with and prints a pin.
  void write_resolver(const std::string& script) { write_file(resolver_, "#!/bin/sh\n" + script + "\n", 0755); }

  State state_with(const char* spec) {
    State state;
    state.arguments = {"pinstep=" + resolver_};
    if (spec != nullptr) state.env_spec.called(spec);
    return state;
  }

  // Runs submit() with these variables; gives what it says, then the error or what `check` returns.
  std::string submitted(State& state, FakeHost& host, const Environment& before,
                        const std::function<std::string(const Environment&)>& check) {
    return in_child([&] {
             ::dup2(STDOUT_FILENO, STDERR_FILENO);
             replace_process_environment(before);
             const auto done = submit(host, state);
             write_message(STDOUT_FILENO, done ? check(process_environment()) : "error: " + done.error().cause);
             return 0;
           })
        .output;
  }

  TemporaryDirectory directory_;
  const std::string resolver_ = directory_ / "pinstep";
};

TEST_F(Submit, DoesNothingWithoutOptionAndPin) {
  const Environment before({{"PATH", "/bin"}, {"RANK", "3"}, {"PINSTEP_STEP_SET", "1.0;RANK=3"}});
  State state = state_with(nullptr);
  FakeHost host(Context::srun);
  EXPECT_EQ(submitted(state, host, before,
                      [&](const Environment& after) { return after == before ? "same" : "changed"; }),
            "same");
}

TEST_F(Submit, TakesAnotherSrunsOfferAwayWhereItMakesNone) {
  State state = state_with(nullptr);
  FakeHost host(Context::srun);
  EXPECT_EQ(submitted(state, host, Environment({{"SLURM_PINSTEP_OFFER", "1;x"}, {"PATH", "/bin"}}),
                      [](const Environment& after) { return after.has(variable::kOffer) ? "there" : "gone"; }),
            "gone");
}

TEST_F(Submit, ResolvesASpecAndHandsThePinToTheJob) {
  write_resolver("echo \"$@\" > " + (directory_ / "called") + "; echo '" + some_pin() + "'");
  State state = state_with("./my env");
  FakeHost host(Context::sbatch);
  EXPECT_EQ(submitted(state, host, Environment({{"PATH", "/bin"}, {"A", "1"}}),
                      [&](const Environment& after) {
                        return std::string(after.get(variable::kPin).value_or("no pin")) + "|" +
                               std::string(host.job.get("PINSTEP_ENV").value_or("no pin")) + "|" +
                               (after.has(variable::kOffer) ? "offer" : "no offer");
                      }),
            some_pin() + "|" + some_pin() + "|no offer");
  EXPECT_EQ(read_file(directory_ / "called", 1000)->text,
            "resolve --site=pinstep=" + resolver_ + " -- ./my env\n");
}

TEST_F(Submit, PassesSharedGpusToTheResolver) {
  write_resolver("echo \"$@\" > " + (directory_ / "called") + "; echo '" + some_pin() + "'");
  State state = state_with("/env");
  state.gpu_share.called("");
  FakeHost host(Context::sbatch);
  submitted(state, host, {}, [](const Environment&) { return ""; });
  EXPECT_EQ(read_file(directory_ / "called", 1000)->text,
            "resolve --site=pinstep=" + resolver_ + " --gpu-share -- /env\n");
}

TEST_F(Submit, PassesLockAndBuildPolicyToTheResolver) {
  write_resolver("echo \"$@\" > " + (directory_ / "called") + "; echo '" + some_pin() + "'");
  State state = state_with("/env");
  state.env_lock.called("frozen");
  state.env_build.called("job");
  FakeHost host(Context::sbatch);
  submitted(state, host, {}, [](const Environment&) { return ""; });
  EXPECT_EQ(read_file(directory_ / "called", 1000)->text,
            "resolve --site=pinstep=" + resolver_ + " --lock=frozen --build=job -- /env\n");
}

TEST_F(Submit, PassesTheShapeToTheResolver) {
  write_resolver("echo \"$@\" > " + (directory_ / "called") + "; echo '" + some_pin() + "'");
  State state = state_with("/env");
  state.rendezvous.called("spawn");
  FakeHost host(Context::sbatch);
  submitted(state, host, {}, [](const Environment&) { return ""; });
  EXPECT_EQ(read_file(directory_ / "called", 1000)->text,
            "resolve --site=pinstep=" + resolver_ + " --shape=spawn -- /env\n");
}

TEST_F(Submit, MakesAPinWithoutAnEnvironmentForARendezvousAlone) {
  for (const Context context : {Context::sbatch, Context::salloc, Context::srun}) {
    State state = state_with(nullptr);
    state.rendezvous.called("torchrun");
    FakeHost host(context);
    EXPECT_EQ(submitted(state, host, {},
                        [&](const Environment& after) {
                          const auto pin = Pin::parse(after.get(variable::kPin).value_or(""));
                          if (!pin) return pin.error().cause;
                          const bool travels = host.job.get("PINSTEP_ENV") == after.get(variable::kPin);
                          return std::string(to_string(pin->shape)) +
                                 (pin->kind == Pin::Kind::none ? " alone" : "") + (travels ? " with the job" : "") +
                                 (after.has(variable::kOffer) ? " offer" : "");
                        }),
              context == Context::srun ? "torchrun alone offer" : "torchrun alone with the job");
  }
}

TEST_F(Submit, ChangesTheShapeOfTheJobsPinForAStep) {
  State state = state_with(nullptr);
  state.rendezvous.called("spawn");
  FakeHost host(Context::srun);
  EXPECT_EQ(submitted(state, host, with_pin(some_pin()),
                      [&](const Environment& after) {
                        const auto pin = Pin::parse(after.get(variable::kPin).value_or(""));
                        if (!pin) return pin.error().cause;
                        return std::string(to_string(pin->shape)) + " in " + pin->prefixes.at(0).prefix;
                      }),
            "spawn in /env");
}

TEST_F(Submit, OffersAHeldPortInSrun) {
  State state = state_with(nullptr);
  FakeHost host(Context::srun);
  const Environment before(
      {{std::string(variable::kPin), some_pin()}, {"SLURM_JOB_ID", "7"}, {"SLURMD_NODENAME", "n4"}});
  EXPECT_EQ(submitted(state, host, before,
                      [](const Environment& after) {
                        const auto offer = Offer::parse(after.get(variable::kOffer).value_or(""));
                        if (!offer) return std::string("no offer");
                        const bool is_held = !hold_port(offer->port);
                        return offer->node + (offer->entry ? " entry" : " inside") +
                               (is_held ? " held" : " not held") +
                               (after.get(variable::kPin) == some_pin() ? " same pin" : " other pin");
                      }),
            "n4 inside held same pin");
}

TEST_F(Submit, SaysInTheOfferThatTheEnvironmentEntersHere) {
  write_resolver("echo '" + some_pin() + "'");
  State state = state_with("/env");
  FakeHost host(Context::srun);
  EXPECT_EQ(submitted(state, host, {},
                      [](const Environment& after) {
                        const auto offer = Offer::parse(after.get(variable::kOffer).value_or(""));
                        return offer && offer->entry ? "entry" : "inside";
                      }),
            "entry");
}

TEST_F(Submit, OffersTheHostFilesFirstNode) {
  struct Case {
    const char* text;
    const char* first;
  };
  FakeHost host(Context::srun);
  for (const Case& c :
       {Case{"n3\nn1\n", "n3"}, Case{"n3*2\nn1\n", "n3"}, Case{"  n3 \r\n", "n3"}, Case{"n3,n1\n", "n3"},
        Case{"n3 n1\n", "n3"}, Case{"# hosts\n\n n3 # fast\n", "n3"}, Case{"n[07-09]*4\n", "n07"},
        Case{"n[3\n", ""}, Case{"n3", "n3"}, Case{"", ""}, Case{"# none\n", ""}}) {
    write_file(directory_ / "hosts", c.text);
    State state = state_with(nullptr);
    Environment before = with_pin(some_pin());
    before.set("SLURM_HOSTFILE", directory_ / "hosts");
    EXPECT_EQ(submitted(state, host, before,
                        [](const Environment& after) {
                          return Offer::parse(after.get(variable::kOffer).value_or(""))->first;
                        }),
              c.first)
        << c.text;
  }
}

TEST_F(Submit, GivesAnInheritedPinANewTokenInSbatch) {
  State state = state_with(nullptr);
  FakeHost host(Context::sbatch);
  EXPECT_EQ(submitted(state, host, with_pin(some_pin()),
                      [&](const Environment& after) {
                        const auto pin = Pin::parse(after.get(variable::kPin).value_or(""));
                        if (!pin) return "no pin";
                        if (host.job.get("PINSTEP_ENV") != pin->text()) return "the job has another";
                        if (pin->token == "0123456789abcdef") return "old token";
                        return pin->prefixes[0].prefix == "/env" ? "same prefix" : "other prefix";
                      }),
            "pinstep: the job inherits the environment '/env'; --env-spec=none drops it\nsame prefix");
}

TEST_F(Submit, TakesEverythingBackForNone) {
  State state = state_with("none");
  FakeHost host(Context::sbatch);
  host.job.set("PINSTEP_ENV", some_pin());
  const Environment before({{std::string(variable::kPin), some_pin()},
                            {"PATH", "/env/bin:/bin"},
                            {"CONDA_PREFIX", "/env"},
                            {"RANK", "0"},
                            {"PINSTEP_STEP_PREFIX", "/env"},
                            {"PINSTEP_STEP_SET", "7.0;RANK=0"},
                            {"PINSTEP_STEP_UNDO", "l,PATH,/env/bin;u,CONDA_PREFIX,69a5d471"},
                            {std::string(variable::kOffer), "1;x"}});
  EXPECT_EQ(submitted(state, host, before,
                      [&](const Environment& after) {
                        std::string text;
                        for (const std::string& entry : after.entries()) text += entry + " ";
                        return text + (host.job.has("PINSTEP_ENV") ? "pinned" : "not pinned");
                      }),
            "PATH=/bin not pinned");
}

TEST_F(Submit, StopsWhereTheResolverFails) {
  FakeHost host(Context::sbatch);
  State state = state_with("/env");
  const auto outcome = [&] { return submitted(state, host, {}, [](const Environment&) { return "went on"; }); };
  EXPECT_EQ(outcome(), "error: cannot run '" + resolver_ + "': No such file or directory");
  write_resolver("exit 1");
  EXPECT_EQ(outcome(), "error: ");  // it has said itself what is wrong
  write_resolver("kill -SEGV $$");
  EXPECT_EQ(outcome(), "error: '" + resolver_ + " resolve' was ended by signal 11");
  write_resolver("exit 127");
  EXPECT_EQ(outcome(), "error: '" + resolver_ + " resolve' ended with exit code 127");
  write_resolver("echo nonsense");
  EXPECT_EQ(outcome(), "error: '" + resolver_ + " resolve' printed no pin: the job's pin has no valid schema");
  write_resolver(":");
  EXPECT_EQ(outcome(), "error: '" + resolver_ + " resolve' printed no pin: the job's pin has no valid schema");
  write_resolver("yes");
  EXPECT_EQ(outcome(), "error: the program wrote more than 4097 bytes");
}

TEST_F(Submit, StopsWhereTheJobCannotTakeThePin) {
  write_resolver("echo '" + some_pin() + "'");
  State state = state_with("/env");
  FakeHost host(Context::sbatch);
  host.refuses = true;
  EXPECT_EQ(submitted(state, host, {}, [](const Environment&) { return "went on"; }),
            "error: the host refuses 'PINSTEP_ENV'");
}

TEST_F(Submit, StopsAnInheritedPinThatCannotBeReadInSbatch) {
  State state = state_with(nullptr);
  FakeHost host(Context::sbatch);
  EXPECT_THAT(submitted(state, host, with_pin("1;kind=x"), [](const Environment&) { return "went on"; }),
              StartsWith("error: the job's pin has no valid field 'kind'"));
}

TEST_F(Submit, ActsOnceForTheComponentsOfAHeterogeneousJob) {
  write_resolver("echo call >> " + (directory_ / "calls") + "; echo '" + some_pin() + "'");
  State state = state_with("/env");
  FakeHost host(Context::sbatch);
  const ChildEnd end = in_child([&] {
    if (!submit(host, state) || !submit(host, state)) return 1;
    state.env_spec.called("/other");
    const auto third = submit(host, state);
    if (third) return 2;
    write_message(STDOUT_FILENO, third.error().cause);
    return 0;
  });
  EXPECT_EQ(end.exit_code, 0);
  EXPECT_EQ(end.output,
            "components of a heterogeneous job cannot differ: --env-spec=/env and "
            "--env-spec=/other");
  EXPECT_EQ(read_file(directory_ / "calls", 1000)->text, "call\n");
}

TEST_F(Submit, EndsARefusedCommandWithOne) {
  const ChildEnd end = in_child([] {
    ::dup2(STDOUT_FILENO, STDERR_FILENO);
    refuse({ErrorKind::usage, "it is wrong", "mend it"});
    return 0;
  });
  EXPECT_EQ(end.exit_code, 1);
  EXPECT_EQ(end.output, "pinstep: error: it is wrong\npinstep: hint: mend it\n");
}

}  // namespace
}  // namespace pinstep
