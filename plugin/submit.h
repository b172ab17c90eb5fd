// The submitting side: srun, sbatch and salloc, in the user's own process, after option parsing.
#pragma once

#include <optional>
#include <string>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"
#include "envtools/pin/pin.h"
#include "plugin/host.h"
#include "plugin/state.h"

namespace pinstep {

// What is to be done about this command's environment.
struct Submission {
  enum class Act {
    nothing,  // neither an option nor a pin: pinstep stays out of it
    keep,     // the pin that came with the environment is used as it is
    resolve,  // the spec is resolved anew and replaces what there was
    drop,     // --env-spec=none: what was inherited is taken back
    meet,     // no environment, but a rendezvous: --env-rendezvous without --env-spec, or with none
  };

  Act act = Act::nothing;
  std::string spec;                    // for resolve
  bool gpu_share = false;              // --env-gpu-share was given
  std::optional<std::string> lock{};   // --env-lock, for resolve; not checked here
  std::optional<std::string> build{};  // --env-build, likewise
  bool batch_step = false;             // for resolve: a batch script follows
  std::optional<Shape> shape{};        // --env-rendezvous was typed; for keep: instead of the pin's

  bool operator==(const Submission&) const = default;
};

// Pure. Errors: usage (an option that makes no sense here).
Result<Submission> decide(const State& state, const Environment& environment, Context context);

// Acts on the decision, once per process: init_post_opt comes once per component of a heterogeneous job.
// Errors end the command: nothing has been queued or allocated yet, and an optional plugin's return code
// is ignored. Errors: conflict (components differ), those of decide() and `pinstep resolve`.
Result<void> submit(Host& host, State& state);

// Says the error and ends the command with exit code 1.
[[noreturn]] void refuse(const Error& error);

}  // namespace pinstep
