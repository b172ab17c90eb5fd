// What a run's logs say, in numbers: pure.
#pragma once

#include "launcher/worker/report/run_log.h"

namespace pinstep::worker {

struct RankSummary {
  std::uint32_t rank = 0;
  std::string node;
  std::uint64_t steps = 0;
  double own = 0;       // seconds of a step without waiting, median
  double own_late = 0;  // 95th percentile
  double waited = 0;    // median
  double factor = 1;    // own to the median of the other ranks' own
  bool is_straggler = false;
};

// One point of a curve: some steps that follow each other.
struct Point {
  double step = 0;                // the middle one
  double loss = 0;                // mean of all samples; NaN where that of any is none
  double samples_per_second = 0;  // of all ranks
};

// A run that went on with another number of ranks is that of its last number: others' logs and steps are of no
// use beside it, but for the curves and what has been trained.
struct RunSummary {
  std::uint32_t size = 0;   // ranks that the run has
  std::uint32_t nodes = 0;  // that those with a log are on
  std::string model;
  std::uint64_t parameters = 0;
  std::uint64_t steps = 0;  // that all ranks with a log have done
  std::uint64_t last_step = 0;
  std::uint32_t starts = 0;
  double samples_per_second = 0;  // over all of them
  double waited_share = 0;        // of the ranks' time
  std::uint64_t most_memory = 0;  // of a rank, bytes; 0: no rank has ended
  std::vector<RankSummary> ranks;
  std::vector<Point> curve;
  std::vector<LoggedEpoch> epochs;
  std::vector<double> epoch_ends;  // the last step of each epoch but the last
  std::vector<std::uint32_t> unfinished;
  std::vector<std::string> errors;  // "rank 3: …"
  std::uint32_t former = 0;         // logs of ranks that only earlier runs with more of them had
  std::uint64_t unreadable = 0;
};

// A rank is a straggler whose own work takes this much longer than that of the others.
inline constexpr double kStraggles = 1.2;

RunSummary summarize(const RunLog& run);

}  // namespace pinstep::worker
