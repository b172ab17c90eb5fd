// The functions that Slurm calls. Each is one line through the guard; nothing is decided here.
//
// Only these hooks exist. job_prolog and job_epilog run as root on strings that users control and have
// their own ways to drain nodes; task_init is the one hook that sees PMIX_* and the true rank, as the user.

#include <unistd.h>

#include <cstdint>

extern "C" {
#include <slurm/slurm_version.h>
#include <slurm/spank.h>
}

#include "launcher/prepare/prepare.h"
#include "plugin/guard.h"
#include "plugin/options.h"
#include "plugin/slurm_api.h"
#include "plugin/state.h"
#include "plugin/step.h"
#include "plugin/submit.h"

#define VISIBLE __attribute__((visibility("default")))
#define EXPORTED extern "C" VISIBLE

// What SPANK_PLUGIN would define. In C++ a const object is exported only if it was declared extern before.
extern "C" {
VISIBLE extern const char plugin_name[];
VISIBLE extern const char plugin_type[];
VISIBLE extern const unsigned int plugin_version;
const char plugin_name[] = "pinstep";
const char plugin_type[] = "spank";
const unsigned int plugin_version = SLURM_VERSION_NUMBER;  // Slurm loads a plugin of its own series only
}

namespace {

using namespace pinstep;

// Made at its first use: a constructor that ran at load time would run in slurmd and twice in programs
// that find the plugin by a relative path. Never destroyed: srun's port is to live as long as srun.
State& state() {
  static State* const the_state = new State;
  return *the_state;
}

// What becomes of an exception. Slurm's daemons only log it.
int report(const char* hook, const char* what) noexcept {
  slurm_error("pinstep: internal error in %s: %s", hook, what);
  return 0;
}

// An option that got lost must end its command: the one place where Slurm heeds an optional plugin.
int report_option(const char* hook, const char* what) noexcept {
  report(hook, what);
  return -1;
}

// A command that asked for an environment must not submit without one.
int report_submission(const char* hook, const char* what) noexcept {
  report(hook, what);
  if (state().env_spec.value() || state().rendezvous.value()) ::_exit(1);
  return 0;
}

template <class Body, class OnException = decltype(report)>
int hook(const char* name, Body&& body, OnException&& on_exception = report) noexcept {
  return guarded(name, body, on_exception);
}

template <OptionUse State::*option>
int take_value(int /*value*/, const char* argument, int remote) {
  if (remote != 0 || argument == nullptr) return 0;
  return hook(
      "option", [&] { (state().*option).called(argument); }, report_option);
}

// The argument of a flag may come as NULL, "" or "(null)": it means nothing.
int take_gpu_share(int /*value*/, const char* /*argument*/, int remote) {
  if (remote != 0) return 0;
  return hook(
      "option", [] { state().gpu_share.called(""); }, report_option);
}

// Slurm copies the table; its strings are not const in spank.h and are not written to.
void register_option(spank_t handle, std::string_view name, const char* argument, const char* usage,
                     spank_opt_cb_f take) {
  spank_option option{const_cast<char*>(name.data()),
                      const_cast<char*>(argument),
                      const_cast<char*>(usage),
                      argument == nullptr ? 0 : 1,
                      0,
                      take};
  spank_option_register(handle, &option);
}

void register_options(spank_t handle) {
  register_option(handle, kEnvSpecOption, "ENV|none", "pinned environment of the job's steps",
                  take_value<&State::env_spec>);
  register_option(handle, kEnvLockOption, "auto|frozen|update", "solve where there is no lock; never; anew",
                  take_value<&State::env_lock>);
  register_option(handle, kEnvBuildOption, "submit|job|never", "when a missing prefix is built",
                  take_value<&State::env_build>);
  register_option(handle, kRendezvousOption, "auto|rank|torchrun|spawn|none",
                  "how the ranks of the job's steps are started", take_value<&State::rendezvous>);
  register_option(handle, kGpuShareOption, nullptr, "let ranks of a node reach each other's GPUs (batch jobs)",
                  take_gpu_share);
}

}  // namespace

EXPORTED int slurm_spank_init(spank_t handle, int argc, char** argv) {
  return hook("init", [&] {
    const SlurmHost host(handle);
    const Context context = host.context();
    if (context == Context::other) return;
    state().arguments.assign(argv, argv + argc);
    register_options(handle);
    if (context == Context::step) open_step(host, state());
  });
}

EXPORTED int slurm_spank_init_post_opt(spank_t handle, int /*argc*/, char** /*argv*/) {
  return hook(
      "init_post_opt",
      [&] {
        SlurmHost host(handle);
        if (host.context() == Context::step || host.context() == Context::other) return;
        if (const auto done = submit(host, state()); !done) refuse(done.error());
      },
      report_submission);
}

EXPORTED int slurm_spank_user_init(spank_t handle, int /*argc*/, char** /*argv*/) {
  const SlurmHost host(handle);
  if (!host.step_has_pin()) return 0;
  return hook("user_init", [&] { hold_step_port(host, state()); });
}

EXPORTED int slurm_spank_task_init(spank_t handle, int /*argc*/, char** /*argv*/) {
  SlurmHost host(handle);
  if (!host.step_has_pin()) return 0;
  return hook(
      "task_init", [&] { prepare_step_task(host, state()); },
      [&](const char* /*name*/, const char* what) noexcept -> int { abandon_step_task(host, state(), what); });
}

EXPORTED int slurm_spank_exit(spank_t /*handle*/, int /*argc*/, char** /*argv*/) {
  return hook("exit", [&] { state().port.reset(); });
}
