// All that the plugin remembers between two hooks of one process. There is one such object (hooks.cc).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "envtools/base/error.h"
#include "envtools/config/settings.h"
#include "launcher/rendezvous/port.h"
#include "plugin/options.h"

namespace pinstep {

struct State {
  // every context
  std::vector<std::string> arguments;  // of the plugstack.conf line
  bool switched_off = false;           // /etc/pinstep/disable is there
  SiteSettings site;

  // srun, sbatch, salloc
  OptionUse env_spec;
  OptionUse env_lock;
  OptionUse env_build;
  OptionUse rendezvous;
  OptionUse gpu_share;
  bool is_submitted = false;  // the first component of a heterogeneous job, or the only one

  // srun and slurmstepd: kept open until exit
  std::optional<HeldPort> port;

  // slurmstepd: what user_init could not do; a task reports it
  std::optional<Error> deferred_error;
};

}  // namespace pinstep
