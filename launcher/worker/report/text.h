// A run's summary for people, and for programs.
#pragma once

#include <string>

#include "envtools/json/json.h"
#include "launcher/worker/report/run_summary.h"

namespace pinstep::worker {

std::string text_of(const RunSummary& summary);
Json json_of(const RunSummary& summary);

}  // namespace pinstep::worker
