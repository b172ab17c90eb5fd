#include "launcher/worker/report/text.h"

#include <algorithm>
#include <cstdio>

#include "envtools/base/text.h"
#include "launcher/worker/words.h"

namespace pinstep::worker {
namespace {

constexpr std::size_t kMostRanks = 32;  // rows; of more, those that are slowest

std::string rank_rows(const RunSummary& summary) {
  std::vector<RankSummary> ranks = summary.ranks;
  std::string text = "\n rank  node              steps    own ms  95 % ms  waited ms\n";
  if (ranks.size() > kMostRanks) {
    std::stable_sort(ranks.begin(), ranks.end(), [](const auto& a, const auto& b) { return a.own > b.own; });
    text = "\nthe " + std::to_string(kMostRanks) + " slowest ranks" + text;
    ranks.resize(kMostRanks);
  }
  for (const RankSummary& rank : ranks) {
    text += formatted("%5u  %-14.14s  %7llu  %8.2f %8.2f  %9.2f", rank.rank, printable(rank.node).c_str(),
                      static_cast<unsigned long long>(rank.steps), rank.own * 1e3, rank.own_late * 1e3,
                      rank.waited * 1e3);
    text += rank.is_straggler ? formatted("  straggler, %.2f times the others\n", rank.factor) : "\n";
  }
  return text;
}

}  // namespace

std::string text_of(const RunSummary& summary) {
  std::string text = how_many(summary.size, "rank") + " on " + how_many(summary.nodes, "node") + ", " +
                     printable(summary.model) + " with " + how_many(summary.parameters, "parameter") + ", " +
                     how_many(summary.steps, "step");
  if (summary.starts > 1) text += ", started " + how_many(summary.starts, "time");
  text += formatted("\n%.0f samples/s; ranks waited for each other %.1f %% of the time",
                    summary.samples_per_second, 100 * summary.waited_share);
  if (summary.most_memory > 0) text += "; most memory of a rank " + format_size(summary.most_memory);
  text += "\n";
  if (!summary.epochs.empty()) text += "\nepoch    loss  test loss  accuracy  samples/s\n";
  for (const LoggedEpoch& epoch : summary.epochs)
    text += formatted("%5u  %6.4f     %6.4f    %6.4f  %9.0f\n", epoch.epoch, shown(epoch.loss),
                      shown(epoch.test_loss), shown(epoch.accuracy), shown(epoch.samples_per_second));
  text += rank_rows(summary);
  std::string notes;
  if (summary.ranks.size() < summary.size)
    notes += "no log of " + how_many(summary.size - summary.ranks.size(), "rank") + "\n";
  if (summary.former > 0)
    notes += how_many(summary.former, "log") + " of an earlier run with more ranks left out\n";
  if (!summary.unfinished.empty()) notes += how_many(summary.unfinished.size(), "rank") + " did not end well\n";
  for (const std::string& error : summary.errors) notes += printable(error) + "\n";
  if (summary.unreadable > 0) notes += how_many(summary.unreadable, "line") + " could not be read\n";
  return notes.empty() ? text : text + "\n" + notes;
}

Json json_of(const RunSummary& summary) {
  Json ranks = Json::array(), epochs = Json::array();
  for (const RankSummary& rank : summary.ranks)
    ranks.push_back({{"rank", rank.rank},
                     {"node", rank.node},
                     {"steps", rank.steps},
                     {"own_seconds", rank.own},
                     {"own_seconds_95", rank.own_late},
                     {"waited_seconds", rank.waited},
                     {"factor", rank.factor},
                     {"straggler", rank.is_straggler}});
  for (const LoggedEpoch& epoch : summary.epochs)
    epochs.push_back({{"epoch", epoch.epoch},
                      {"loss", epoch.loss},
                      {"test_loss", epoch.test_loss},
                      {"accuracy", epoch.accuracy},
                      {"samples_per_second", epoch.samples_per_second}});
  return {{"ranks_of_run", summary.size},
          {"nodes", summary.nodes},
          {"model", summary.model},
          {"parameters", summary.parameters},
          {"steps", summary.steps},
          {"starts", summary.starts},
          {"samples_per_second", summary.samples_per_second},
          {"waited_share", summary.waited_share},
          {"most_memory_bytes", summary.most_memory},
          {"unfinished", summary.unfinished},
          {"errors", summary.errors},
          {"former_logs", summary.former},
          {"unreadable_lines", summary.unreadable},
          {"epochs", std::move(epochs)},
          {"ranks", std::move(ranks)}};
}

}  // namespace pinstep::worker
