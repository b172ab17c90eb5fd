// From a lock to the job of pinstep-build.
#pragma once

#include <string>

#include "envtools/build/build.h"
#include "envtools/cli/choosing.h"
#include "envtools/cli/cli.h"
#include "envtools/cli/environments.h"

namespace pinstep::cli {

// As the settings say it.
BuildOptions build_options(const Settings& settings);

// Into the first store, for this machine's platform. Errors: those of load_channel_config().
Result<BuildJob> build_job(const World& world, const Place& place, const ChosenLock& lock,
                           const BuildOptions& options);

}  // namespace pinstep::cli
