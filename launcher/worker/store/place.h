// Which rank this process is and where the ranks meet, from the variables that pinstep (or torchrun) gives.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"
#include "launcher/worker/store/tcp_store.h"

namespace pinstep::worker {

struct Place {
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::uint32_t local_rank = 0;
  std::uint32_t local_size = 1;
  std::string cookie;              // job and step, empty outside a job
  std::optional<Meeting> meeting;  // nothing for a rank that is alone

  // Lowest of its node, so that a node says things once.
  bool speaks_for_node() const { return local_rank == 0; }
};

// RANK, WORLD_SIZE, MASTER_ADDR, MASTER_PORT, and LOCAL_RANK, LOCAL_WORLD_SIZE where they are set. Without the
// first four the process is alone, unless it is one of several tasks. Errors: invalid, conflict.
Result<Place> place_from_environment(const Environment& environment);

// Job and step, the same for all ranks of a heterogeneous step.
std::string cookie_of(const Environment& environment);

// Where PMIx would be used by --store=auto: a PMIx server is there and the variables above are not.
bool prefers_pmix(const Environment& environment);

}  // namespace pinstep::worker
