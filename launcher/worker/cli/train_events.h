// Where the events of a training run go: rank 0's to standard output, every rank's to its log, and progress to
// a terminal.
#pragma once

#include <chrono>

#include "launcher/worker/cli/train_options.h"
#include "launcher/worker/cli/train_output.h"
#include "launcher/worker/report/event_log.h"

namespace pinstep::worker {

class TrainEvents {
 public:
  TrainEvents(const TrainOptions& options, Form form) : options_(options), form_(form) {}

  // Errors: of opening the log.
  Result<void> begin(const Place& place, const std::string& node, const Start& start);
  void epoch_begins(std::uint32_t epoch) { epoch_ = epoch; }
  void step(const StepReport& report);
  void epoch(const EpochReport& report);
  // Of rank 0 only.
  void resumed(const Resumed& resumed);
  void kept(const Kept& kept);
  // The digest of the weights, and where they were saved.
  void end(const std::string& weights, const std::string& saved);
  void failed(const Ending& ending);

  bool wants_steps() const { return log_.is_open() || shows_progress_; }

 private:
  void note(Json event);
  // That the log lacks events: once when it begins, and how many at the end.
  void tell_lost(bool is_end);
  void clear_progress() const;

  const TrainOptions& options_;
  const Form form_;
  EventLog log_;
  std::uint32_t ranks_ = 1;
  std::uint32_t epoch_ = 0;
  bool speaks_ = false;
  bool shows_progress_ = false;
  bool told_lost_ = false;
  std::chrono::steady_clock::time_point shown_;
  std::uint64_t samples_ = 0;  // of this rank, since then
};

}  // namespace pinstep::worker
