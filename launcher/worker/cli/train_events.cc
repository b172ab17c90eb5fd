#include "launcher/worker/cli/train_events.h"

#include <sys/resource.h>
#include <unistd.h>

#include <cstring>

#include "envtools/base/fd.h"
#include "launcher/worker/words.h"

namespace pinstep::worker {
namespace {

using Now = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetween{250};  // lines of progress
constexpr const char* kClear = "\r\033[K";

std::uint64_t most_memory() {
  rusage usage{};
  ::getrusage(RUSAGE_SELF, &usage);
  return static_cast<std::uint64_t>(usage.ru_maxrss) * 1024;
}

}  // namespace

Result<void> TrainEvents::begin(const Place& place, const std::string& node, const Start& start) {
  ranks_ = place.size;
  speaks_ = place.rank == 0;
  shows_progress_ = speaks_ && form_ == Form::text && ::isatty(STDERR_FILENO) == 1;
  shown_ = Now::now();
  if (speaks_) print(line_of(start, form_));
  if (options_.log.empty()) return {};
  auto log = EventLog::open(options_.log, place.rank);
  if (!log) return tl::unexpected(log.error());
  log_ = std::move(*log);
  note({{"event", "start"},
        {"rank", place.rank},
        {"ranks", place.size},
        {"node", node},
        {"model", start.model},
        {"parameters", start.parameters},
        {"images", start.images},
        {"restart", start.restart}});
  return {};
}

void TrainEvents::step(const StepReport& report) {
  note({{"event", "step"},
        {"epoch", epoch_},
        {"step", report.step},
        {"samples", report.samples},
        {"seconds", report.seconds},
        {"waited", report.waited},
        {"loss", report.loss}});
  samples_ += report.samples;
  if (!shows_progress_ || Now::now() - shown_ < kBetween) return;
  const double seconds = std::chrono::duration<double>(Now::now() - shown_).count();
  write_message(STDERR_FILENO,
                kClear + progress_of(epoch_, report, static_cast<double>(samples_ * ranks_) / seconds));
  shown_ = Now::now();
  samples_ = 0;
}

void TrainEvents::epoch(const EpochReport& report) {
  note(json_of(report));
  clear_progress();
  if (speaks_) print(line_of(report, form_));
}

void TrainEvents::resumed(const Resumed& resumed) {
  note(json_of(resumed));
  print(line_of(resumed, form_));
}

void TrainEvents::kept(const Kept& kept) {
  note(json_of(kept));
  clear_progress();
  print(line_of(kept, form_));
}

void TrainEvents::end(const std::string& weights, const std::string& saved) {
  note({{"event", "end"}, {"weights", weights}, {"most_memory_bytes", most_memory()}});
  tell_lost(true);
  if (speaks_) print(line_of_end(weights, saved, form_));
}

void TrainEvents::failed(const Ending& ending) {
  Json event{{"event", "error"}};
  event.update(json_of(ending.error));
  event["ranks"] = ending.ranks;
  note(event);
  clear_progress();
}

void TrainEvents::note(Json event) {
  log_.add(std::move(event));
  tell_lost(false);
}

void TrainEvents::tell_lost(bool is_end) {
  if (log_.lost() == 0 || (told_lost_ && !is_end)) return;
  told_lost_ = true;
  clear_progress();
  write_message(STDERR_FILENO, "pinstep-worker: warning: '" + log_.path() + "' " +
                                   (is_end ? "lacks " + how_many(log_.lost(), "event") : "lacks events") +
                                   ": " + std::strerror(log_.trouble()) + "\n");
}

void TrainEvents::clear_progress() const {
  if (shows_progress_) write_message(STDERR_FILENO, kClear);
}

}  // namespace pinstep::worker
