// A run read back from its files (report/event_log.h).
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep::worker {

// Numbers are those that a float can hold, which losses are computed in; a loss that is none is NaN.
struct LoggedStep {
  std::uint32_t epoch = 0;
  std::uint32_t samples = 0;
  double seconds = 0, waited = 0, loss = 0;
  std::uint32_t ranks = 0;  // that the run had then
  double begun = 0;         // that run, by this rank's clock: seconds since 1970

  double own() const { return seconds - waited; }  // what it needed for itself
};

struct LoggedEpoch {
  std::uint32_t epoch = 0;
  double loss = 0, test_loss = 0, accuracy = 0, samples_per_second = 0;
};

struct RankLog {
  std::string node;
  std::string model;
  std::uint64_t parameters = 0;
  std::uint32_t ranks = 0;                    // that the run had at its last start, as this one was told
  double begun = 0;                           // that start: seconds since 1970
  std::uint32_t starts = 0;                   // more than one after a requeue
  std::map<std::uint64_t, LoggedStep> steps;  // of those done twice the later one
  std::map<std::uint32_t, LoggedEpoch> epochs;
  bool has_ended = false;
  std::string error;
  std::uint64_t most_memory = 0;  // bytes
};

struct RunLog {
  std::map<std::uint32_t, RankLog> ranks;
  std::uint64_t unreadable = 0;  // lines that tell nothing: a rank that was killed may leave half a line
};

// Adds a rank's file. Never fails.
void add_log(RunLog& run, std::uint32_t rank, std::string_view text);

// All of a directory. Errors: not_found (no directory, or no rank's file in it), those of reading.
Result<RunLog> read_run(const std::string& directory);

}  // namespace pinstep::worker
