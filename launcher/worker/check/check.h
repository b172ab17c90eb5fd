// The pre-flight check: what all ranks do together, with an end whatever happens.
#pragma once

#include "launcher/worker/check/judge.h"
#include "launcher/worker/check/peer.h"
#include "launcher/worker/train/session.h"

namespace pinstep::worker {

// Parts of the time that a check may take, from its start.
struct Schedule {
  Moment began;
  Milliseconds all{30'000};

  Moment arrived() const { return began + all * 4 / 10; }  // ranks that have not come then do not count
  Moment measured() const { return began + all * 7 / 10; }
  Moment gathered() const { return began + all * 8 / 10; }  // rank 0 judges
  Moment ended() const { return began + all; }              // it has told the others
};

// The ranks this one measures its way to: each node's first rank to those of the others, at most kMostPeers of
// them; on one node each rank to the others. `nodes` by rank, "" for a rank that is not there.
std::vector<std::uint32_t> peers_of(std::uint32_t rank, const std::vector<std::string>& nodes);

// After session.meet(): measures, and leaves its report in the store for rank 0. Errors: those of the store.
Result<RankReport> look_around(Session& session, const std::string& node, const Environment& environment,
                               const Schedule& schedule);

// Rank 0's: what the others left.
Gathered gather(Session& session, RankReport own, const Environment& environment, const Schedule& schedule);

// Rank 0 tells whether all is well, the others wait for that word. Errors: those of the store.
Result<void> tell(Session& session, bool is_well);
Result<bool> hear(Session& session, const Schedule& schedule);

}  // namespace pinstep::worker
