// Where the ranks of a step meet, and what each of them is told about it.
//
// Every task decides for itself, from inputs that are the same on all nodes: no message, no RPC. The
// functions here are pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"
#include "envtools/pin/pin.h"
#include "launcher/step/offer.h"
#include "launcher/step/step.h"

namespace pinstep {

// Ports derived from job and step. Outside the ephemeral range (32768 up, ip(7)) and above the services
// that Slurm and others keep below.
inline constexpr std::uint16_t kDerivedPortLow = 16384;
inline constexpr std::uint16_t kDerivedPortCount = 12288;

// Different for the steps of one job until there are kDerivedPortCount of them, and for each start of a job
// that is requeued: connections of the last one would keep its port from being held for a minute
// (TIME_WAIT).
std::uint16_t derived_port(const StepId& id, std::uint32_t restarts);

enum class PortSource {
  user,      // MASTER_PORT (or PET_MASTER_PORT) was set
  reserved,  // SLURM_STEP_RESV_PORTS: the site reserves ports for every step (MpiParams=ports=)
  offered,   // held by srun, which runs on the master node
  derived,   // from job and step id; to be held on the master node
};

struct Endpoint {
  std::optional<std::string> address;  // nothing if no task can know the master node
  std::uint16_t port = 0;
  PortSource source = PortSource::derived;
  bool address_is_name = false;  // of the master node, by the site's pattern: not looked up yet
};

// `environment` without our own values of other steps (see forget_rendezvous). Errors: invalid (a
// MASTER_PORT that is no port).
Result<Endpoint> choose_endpoint(const Environment& environment, const StepPlace& place, Shape shape,
                                 const std::optional<Offer>& offer, std::string_view address_pattern);

// The shape of a step whose program is `argv`. `automatic` becomes torchrun for a torchrun that is not
// --standalone, none for a launcher's daemon (orted, hydra_pmi_proxy, …: what mpirun starts must not
// believe it is rank 0), else rank. Looks through `pinstep-launch … --`.
Shape effective_shape(Shape asked, const std::vector<std::string>& argv);

// Whether values found in the environment are one and the same for all tasks (the plugin: they came
// with the step) or may have been set by each task for itself (pinstep-launch behind a wrapper script).
enum class Values { same_for_all_tasks, of_this_task };

using Variables = std::vector<std::pair<std::string, std::string>>;

// The variables of the shape that the user has not set. Errors: conflict (a value of the user contradicts
// the step; both are named), invalid.
Result<Variables> rendezvous_variables(const Environment& environment, const StepFacts& facts, Shape shape,
                                       const Endpoint& endpoint, Values values);

// `NAME=value` records of ours, for PINSTEP_STEP_SET and PINSTEP_STEP_PLACE.
std::string set_record(const StepId& id, const Variables& variables);

// The environment without the variables that a record says are ours and that still have the value we gave
// them, and without that record: an inner srun inherits those of the outer step.
Environment forget_recorded(Environment environment, std::string_view record_name);

// That with PINSTEP_STEP_SET. A rendezvous variable with an empty value goes, too: nobody can mean it.
Environment forget_rendezvous(Environment environment);

}  // namespace pinstep
