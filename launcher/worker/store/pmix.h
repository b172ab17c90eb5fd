// Ranks find each other by PMIx where no variables say where they meet: Slurm's own server for it runs in each
// slurmstepd. It is used once, to learn the rank and to hand rank 0's address round; then this process is no
// client any more. All else goes through the TCP store.
#pragma once

#include <functional>

#include "launcher/worker/store/place.h"

namespace pinstep::worker {

// Calls `open` in rank 0, which gives where it can be met; all ranks return with it in their Place. Collective.
// Errors: unsupported (built without PMIx), network (what PMIx says), and those of `open`.
Result<Place> meet_by_pmix(std::string cookie, const std::function<Result<Meeting>(std::uint32_t size)>& open);

}  // namespace pinstep::worker
