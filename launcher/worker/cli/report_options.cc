#include "launcher/worker/cli/report_options.h"

#include "launcher/worker/cli/option.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {

const char* const kReportUsage =
    R"(usage: pinstep-worker report [OPTION]... DIR

Reads what train has left in its log directory, also of a run that goes on or has failed, and prints
epochs, each rank's step time and which ranks hold the others up. Draws loss, throughput
and step times in DIR/report.svg.

  --svg=FILE           the picture goes there
  --json               one JSON object instead of text
  --help, --version

Exit status: 0, 1 there is no log or no picture, 2 wrong usage.
)";

Result<ReportOptions> parse_report_options(const std::vector<std::string>& words) {
  ReportOptions o;
  std::vector<std::string> directories;
  PINSTEP_TRY(read_options(words, {text_option("--svg", "a file", o.svg), flag_option("--json", o.json)},
                           &directories));
  if (directories.size() != 1)
    return fail(ErrorKind::usage,
                directories.empty() ? "no directory is given" : "more than one directory is given",
                "pinstep-worker report DIR");
  o.directory = directories.front();
  return o;
}

}  // namespace pinstep::worker
