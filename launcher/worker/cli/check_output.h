// What rank 0 prints of a check. The last line is the verdict.
#pragma once

#include <string>

#include "launcher/worker/check/judge.h"
#include "launcher/worker/cli/output.h"

namespace pinstep::worker {

// The report of each rank; for programs only.
std::string lines_of(const Gathered& gathered, Form form);
std::string line_of(const Finding& finding, Form form);
std::string line_of_verdict(const Summary& summary, const std::vector<Finding>& findings, Form form);

}  // namespace pinstep::worker
