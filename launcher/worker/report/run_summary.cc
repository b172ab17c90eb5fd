#include "launcher/worker/report/run_summary.h"

#include <algorithm>
#include <set>

#include "launcher/worker/bench/interval.h"

namespace pinstep::worker {
namespace {

constexpr std::size_t kMostPoints = 240;  // as many as a picture can show

// Where no start tells how many ranks there were, it is as good as any.
bool are_alike(std::uint32_t ranks, std::uint32_t others) {
  return ranks == others || ranks == 0 || others == 0;
}

// Of runs with as many ranks as the last one. The first step reads, allocates and connects what later ones find
// done.
std::vector<const LoggedStep*> usual_steps(const RankLog& log, std::uint32_t ranks) {
  std::vector<const LoggedStep*> steps;
  for (const auto& [number, step] : log.steps)
    if (are_alike(step.ranks, ranks)) steps.push_back(&step);
  if (steps.size() > 1) steps.erase(steps.begin());
  return steps;
}

RankSummary summary_of(std::uint32_t rank, const RankLog& log, std::uint32_t ranks) {
  RankSummary summary{rank, log.node, 0, 0, 0, 0, 1, false};
  for (const auto& [number, step] : log.steps) summary.steps += are_alike(step.ranks, ranks) ? 1 : 0;
  std::vector<double> own, waited;
  for (const LoggedStep* step : usual_steps(log, ranks)) {
    own.push_back(step->own());
    waited.push_back(step->waited);
  }
  if (own.empty()) return summary;
  summary.own = median(own);
  summary.waited = median(waited);
  std::sort(own.begin(), own.end());
  summary.own_late = own[(own.size() - 1) * 95 / 100];
  return summary;
}

void mark_stragglers(std::vector<RankSummary>& ranks) {
  for (RankSummary& one : ranks) {
    std::vector<double> others;
    for (const RankSummary& other : ranks)
      if (&other != &one && other.steps > 0) others.push_back(other.own);
    if (others.empty() || one.steps == 0) continue;
    const double usual = median(std::move(others));
    if (usual <= 0) continue;
    one.factor = one.own / usual;
    one.is_straggler = one.factor > kStraggles;
  }
}

// A step of all ranks: it takes as long as its slowest rank. Where it was done again with another number of
// ranks, only what these did counts.
struct WholeStep {
  double begun = 0;
  std::uint32_t ranks = 0, epoch = 0;
  double samples = 0, seconds = 0, loss = 0;
};

std::map<std::uint64_t, WholeStep> whole_steps(const RunLog& run) {
  std::map<std::uint64_t, WholeStep> whole;
  for (const auto& [rank, log] : run.ranks)
    for (const auto& [number, step] : log.steps) {
      WholeStep& one = whole[number];
      const bool is_alike = are_alike(step.ranks, one.ranks);
      if (!is_alike && step.begun < one.begun) continue;
      if (!is_alike) one = {};
      one.begun = std::max(one.begun, step.begun);
      one.ranks = std::max(one.ranks, step.ranks);
      one.epoch = step.epoch;
      one.samples += step.samples;
      one.seconds = std::max(one.seconds, step.seconds);
      one.loss += step.loss * step.samples;
    }
  return whole;
}

std::vector<Point> curve_of(const std::map<std::uint64_t, WholeStep>& steps) {
  std::vector<Point> curve;
  const std::size_t together = (steps.size() + kMostPoints - 1) / kMostPoints;
  for (auto at = steps.begin(); at != steps.end();) {
    const double first = static_cast<double>(at->first);
    double last = first, samples = 0, seconds = 0, loss = 0;
    for (std::size_t i = 0; i < together && at != steps.end(); ++i, ++at) {
      last = static_cast<double>(at->first);
      samples += at->second.samples;
      seconds += at->second.seconds;
      loss += at->second.loss;
    }
    curve.push_back(
        {(first + last) / 2, samples > 0 ? loss / samples : 0, seconds > 0 ? samples / seconds : 0});
  }
  return curve;
}

std::vector<double> epoch_ends_of(const std::map<std::uint64_t, WholeStep>& steps) {
  std::vector<double> ends;
  for (auto at = steps.begin(); at != steps.end(); ++at)
    if (const auto next = std::next(at); next != steps.end() && next->second.epoch != at->second.epoch)
      ends.push_back(static_cast<double>(at->first));
  return ends;
}

// Of the last start; 0 where no log has one.
std::uint32_t last_ranks(const RunLog& run) {
  const RankLog* last = nullptr;
  for (const auto& [rank, log] : run.ranks)
    if (log.starts > 0 && (last == nullptr || log.begun > last->begun)) last = &log;
  return last == nullptr ? 0 : last->ranks;
}

}  // namespace

RunSummary summarize(const RunLog& run) {
  RunSummary summary;
  summary.unreadable = run.unreadable;
  std::set<std::string> nodes;
  double all = 0, waited = 0;
  const std::uint32_t ranks = last_ranks(run);
  summary.size = ranks;
  for (const auto& [rank, log] : run.ranks) {
    if (ranks > 0 && rank >= ranks) {
      ++summary.former;
      continue;
    }
    nodes.insert(log.node);
    if (ranks == 0) summary.size = rank + 1;
    summary.starts = std::max(summary.starts, log.starts);
    if (summary.model.empty()) summary.model = log.model;
    summary.parameters = std::max(summary.parameters, log.parameters);
    summary.most_memory = std::max(summary.most_memory, log.most_memory);
    for (const auto& [number, epoch] : log.epochs)
      if (rank == 0) summary.epochs.push_back(epoch);
    if (!log.has_ended) summary.unfinished.push_back(rank);
    if (!log.error.empty()) summary.errors.push_back("rank " + std::to_string(rank) + ": " + log.error);
    for (const LoggedStep* step : usual_steps(log, ranks)) {
      all += step->seconds;
      waited += step->waited;
    }
    summary.ranks.push_back(summary_of(rank, log, ranks));
  }
  mark_stragglers(summary.ranks);
  summary.nodes = static_cast<std::uint32_t>(nodes.size());
  summary.waited_share = all > 0 ? waited / all : 0;

  const auto steps = whole_steps(run);
  summary.steps = steps.size();
  summary.last_step = steps.empty() ? 0 : steps.rbegin()->first;
  double samples = 0, seconds = 0;
  for (const auto& [number, step] : steps) {
    samples += step.samples;
    seconds += step.seconds;
  }
  summary.samples_per_second = seconds > 0 ? samples / seconds : 0;
  summary.curve = curve_of(steps);
  summary.epoch_ends = epoch_ends_of(steps);
  return summary;
}

}  // namespace pinstep::worker
