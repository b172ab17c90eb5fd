#include "envtools/fetch/fetch.h"

#include <optional>

#include "envtools/base/process.h"

namespace pinstep {
namespace {

// Cuts what comes in pieces into lines.
class Lines {
 public:
  explicit Lines(std::function<Result<void>(std::string_view)> on_line) : on_line_(std::move(on_line)) {}

  Result<void> take(std::string_view bytes) {
    pending_ += bytes;
    std::size_t from = 0;
    for (std::size_t end; (end = pending_.find('\n', from)) != std::string::npos; from = end + 1)
      if (auto done = on_line_(std::string_view(pending_).substr(from, end - from)); !done) return done;
    pending_.erase(0, from);
    return {};
  }

 private:
  std::function<Result<void>(std::string_view)> on_line_;
  std::string pending_;
};

}  // namespace

Result<void> fetch(const std::string& program, const Environment& environment, const FetchJob& job,
                   const std::function<void(const FetchEvent&)>& on_event) {
  if (job.files.empty()) return {};
  std::optional<Error> failed;
  std::size_t done = 0;
  Lines lines([&](std::string_view line) -> Result<void> {
    const auto event = parse_fetch_event(line);
    if (!event) return tl::unexpected(event.error());
    if (event->file >= job.files.size())
      return fail(ErrorKind::invalid, "a fetch event names no file of the job");
    if (event->kind == FetchEvent::Kind::failed && !failed) failed = event->error;
    done += event->kind == FetchEvent::Kind::done;
    on_event(*event);
    return {};
  });
  const auto ended = run(
      {{program}, environment, format_fetch_job(job)},
      [&](std::string_view bytes) { return lines.take(bytes); }, 0);
  if (!ended) return tl::unexpected(ended.error());
  if (failed) return tl::unexpected(*failed);
  if (ended->signal == 0 && ended->exit_code == 0 && done == job.files.size()) return {};
  return fail(ErrorKind::os, "'" + program + "' ended with " +
                                 (ended->signal != 0 ? "signal " + std::to_string(ended->signal)
                                                     : "exit code " + std::to_string(ended->exit_code)) +
                                 " before all files were there");
}

}  // namespace pinstep
