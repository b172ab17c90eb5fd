#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include "envtools/base/fd.h"
#include "launcher/worker/cli/output.h"
#include "launcher/worker/cli/report_options.h"
#include "launcher/worker/cli/verbs.h"
#include "launcher/worker/report/svg.h"
#include "launcher/worker/report/text.h"

namespace pinstep::worker {
namespace {

Result<void> report(const ReportOptions& options) {
  const auto run = read_run(options.directory);
  if (!run) return tl::unexpected(run.error());
  const RunSummary summary = summarize(*run);
  const std::string picture = options.svg.empty() ? options.directory + "/report.svg" : options.svg;
  // First what needs no place of its own: the log may be another user's.
  print(options.json ? json_line(json_of(summary)) : text_of(summary));
  if (auto drawn = replace_file(picture, svg_of(summary)); !drawn)
    return fail(drawn.error().kind, "there is no picture: " + drawn.error().cause,
                "--svg=FILE draws it elsewhere");
  if (!options.json) print("\npicture: " + picture + "\n");
  return {};
}

}  // namespace

Error report_verb(const std::vector<std::string>& words) {
  std::signal(SIGPIPE, SIG_DFL);  // no network here: who pipes it into head wants no message
  const auto options = parse_report_options(words);
  if (!options) return options.error();
  const auto done = report(*options);
  if (!done)
    write_message(STDERR_FILENO, lines_of(Ending{Outcome::failed, done.error(), {}, true}, Form::text));
  std::exit(static_cast<int>(done && !is_output_lost() ? Outcome::done : Outcome::failed));
}

}  // namespace pinstep::worker
