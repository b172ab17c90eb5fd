// The command line of pinstep-worker report.
#pragma once

#include <string>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep::worker {

struct ReportOptions {
  std::string directory;
  std::string svg;  // empty: report.svg in the directory
  bool json = false;
};

extern const char* const kReportUsage;

// The words after the verb. Errors: usage.
Result<ReportOptions> parse_report_options(const std::vector<std::string>& words);

}  // namespace pinstep::worker
