// What a rank leaves of its run: one file for each, DIR/rank-N.jsonl, one JSON object per line.
//
// Every object has `event` and `time` (seconds since 1970):
//   start  rank, ranks, node, model, parameters, images
//   step   epoch, step (from 1, through all epochs), samples (this rank's), seconds, waited (of them, for the
//          other ranks after the backward pass), loss (mean of this rank's samples)
//   epoch  as rank 0 prints it with --json
//   end    weights, most_memory_bytes
//   error  kind, cause, hint, ranks
// Readers ignore events and members they do not know. A run that goes on after a requeue appends.
#pragma once

#include <chrono>
#include <string>

#include "envtools/base/fd.h"
#include "envtools/json/json.h"

namespace pinstep::worker {

class EventLog {
 public:
  // Nothing is written by one that is not open.
  EventLog() = default;
  EventLog(EventLog&&) noexcept = default;
  EventLog& operator=(EventLog&&) noexcept = default;
  ~EventLog() { flush(); }

  // Makes the directory where it is missing. Errors: those of errno.
  static Result<EventLog> open(const std::string& directory, std::uint32_t rank);

  bool is_open() const { return file_.valid(); }
  // Steps reach the file within a second or so, everything else at once: a run writes to file systems that
  // dislike small pieces. A full disk loses events and does not end a run.
  void add(Json event);
  void flush() noexcept;

  const std::string& path() const { return path_; }
  // Events that are not in the file, or not whole; and the errno of the first time.
  std::uint64_t lost() const { return lost_; }
  int trouble() const { return trouble_; }

 private:
  std::string path_;
  UniqueFd file_;
  std::string pending_;
  bool is_cut_ = false;  // the file's last line may be half a one
  std::uint64_t lost_ = 0;
  int trouble_ = 0;
  std::chrono::steady_clock::time_point last_flush_;
};

std::string log_name(std::uint32_t rank);  // "rank-7.jsonl"

}  // namespace pinstep::worker
