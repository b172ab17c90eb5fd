// What all verbs that several ranks run together have in common: they come, do something, and leave, in peace
// or not.
#pragma once

#include <functional>

#include "launcher/worker/cli/output.h"
#include "launcher/worker/device/cpu_device.h"
#include "launcher/worker/train/session.h"

namespace pinstep::worker {

// Opens a session, calls `act` and ends the process: with 0, or with what the error means, which is said once
// by each node.
[[noreturn]] void run_in_session(SessionSettings settings, Form form,
                                 const std::function<Result<void>(Session& session, CpuDevice& device)>& act);

}  // namespace pinstep::worker
