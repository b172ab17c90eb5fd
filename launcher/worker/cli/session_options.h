// The options by which ranks meet, the same for every verb that is run by several ranks.
#pragma once

#include <vector>

#include "launcher/worker/cli/option.h"
#include "launcher/worker/train/session.h"

namespace pinstep::worker {

// --store alone.
Option store_option(StoreKind& store);
// --store, --timeout, --start-timeout; the settings must outlive the rows.
std::vector<Option> session_options(SessionSettings& session);

}  // namespace pinstep::worker
