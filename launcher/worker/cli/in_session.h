// What all verbs that several ranks run together have in common: they come, do something, and leave, in peace
// or not.
#pragma once

#include <functional>

#include "launcher/worker/cli/output.h"
#include "launcher/worker/device/cpu_device.h"
#include "launcher/worker/train/session.h"

namespace pinstep::worker {

// Opens a session, calls `act` and ends the process: with 0, or with what the error means, which is said once
// by each node. `failed` learns of it first, and may turn it into another. What could not be printed turns
// success into failure.
[[noreturn]] void run_in_session(SessionSettings settings, Form form,
                                 const std::function<Result<void>(Session& session, CpuDevice& device)>& act,
                                 const std::function<void(Ending& ending, const Place& place)>& failed = {});

// This node's name.
std::string host_name();

// Has the device use OMP_NUM_THREADS threads, or one where ranks share a node: with all of its cores they would
// get into each other's way. `alone`: for a rank that has its node to itself, 0 where the device chooses.
// Returns how many.
unsigned use_threads(CpuDevice& device, const Place& place, unsigned alone = 0);

}  // namespace pinstep::worker
