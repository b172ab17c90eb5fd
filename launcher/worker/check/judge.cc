#include "launcher/worker/check/judge.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "envtools/base/text.h"
#include "launcher/worker/bench/interval.h"
#include "launcher/worker/units/units.h"
#include "launcher/worker/words.h"

namespace pinstep::worker {
namespace {

// A link is slow beside the others, whatever they are, when it differs by this factor, and in latency by a time
// that is more than chance.
constexpr double kSlow = 3;
constexpr double kSlowLatency = 100e-6;
// Sockets of a rank: with every other one and the store; the rest is for files, libraries and data loaders.
constexpr std::uint64_t kFilesBeside = 128;

constexpr const char* kSpeedHint = "ethtool and the switch's port tell the negotiated speed";

constexpr std::size_t kMostNames = 8;

std::string list(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMostNames; ++i) text += (i > 0 ? ", " : "") + names[i];
  if (names.size() > kMostNames) text += " and " + std::to_string(names.size() - kMostNames) + " more";
  return text;
}

// The value that a quarter of all are as good as. Not the median: of three nodes' links most are those of a
// slow one.
template <class Better>
double best_quarter(std::vector<double> values, Better better) {
  const auto at = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 4);
  std::nth_element(values.begin(), at, values.end(), better);
  return *at;
}

// A judgement in the making.
class Judge {
 public:
  Judge(const Gathered& gathered, const Limits& limits) : gathered_(gathered), limits_(limits) {
    for (const auto& report : gathered.ranks)
      if (report) {
        nodes_.insert(report->node);
        // The lowest rank of a node speaks for it.
        speakers_.emplace(report->node, &*report);
      }
  }

  std::vector<Finding> all() {
    missing();
    broken_links();
    slow_links();
    clocks();
    equal();
    enough();
    return std::move(findings_);
  }

 private:
  void find(const char* kind, std::string text, std::string hint = "") {
    findings_.push_back({kind, std::move(text), std::move(hint)});
  }

  const std::string& node_of(std::uint32_t rank) const { return gathered_.ranks[rank]->node; }
  bool is_there(std::uint32_t rank) const { return rank < gathered_.ranks.size() && gathered_.ranks[rank]; }
  // A rank where it alone is meant, else its node.
  std::string name_of(std::uint32_t rank) const {
    return nodes_.size() > 1 ? node_of(rank) : "rank " + std::to_string(rank) + " on " + node_of(rank);
  }

  void missing() {
    std::vector<std::string> ranks, nodes;
    for (std::uint32_t rank = 0; rank < gathered_.size; ++rank)
      if (!is_there(rank)) ranks.push_back(std::to_string(rank));
    if (ranks.empty()) return;
    for (const std::string& node : gathered_.nodes)
      if (!nodes_.contains(node)) nodes.push_back(node);
    const std::string who = (ranks.size() == 1 ? "rank " : "ranks ") + list(ranks) +
                            (nodes.empty() ? "" : ", of " + list(nodes) + ",");
    const bool one = ranks.size() == 1;
    std::string text = who + (one ? " does" : " do") + " not reach rank 0 at " + gathered_.master;
    if (nodes.empty()) return find("reach", text, "the rank's own message says why");
    // Where nobody from outside gets in, the door is shut; where others do, it is the way of those that do not.
    if (nodes_.size() == 1)
      return find("reach", text + "; no other node does",
                  "a firewall on " + node_of(0) +
                      " may close the port; MpiParams=ports= of slurm.conf says which are "
                      "used");
    find("reach",
         text + "; " + std::to_string(nodes_.size() - 1) + " other " +
             (nodes_.size() == 2 ? "node does" : "nodes do"),
         "a firewall on " + list(nodes) + " or the way from there may close the port");
  }

  // By node: with whom it could not connect, in either direction.
  void broken_links() {
    std::map<std::string, int> tried_from, tried_to;
    std::map<std::string, std::vector<std::string>> from, to;
    std::map<std::pair<std::string, std::string>, std::string> why;
    for_each_link([&](const RankReport& report, const Link& link) {
      const std::string a = name_of(report.rank), b = name_of(link.to);
      ++tried_from[a], ++tried_to[b];
      if (link.error.empty()) return;
      from[a].push_back(b), to[b].push_back(a);
      why[{a, b}] = link.error;
    });
    // Whoever fails with all others explains the failures of the others with it.
    for (const auto& [node, others] : to)
      if (tried_to[node] > 1 && static_cast<int>(others.size()) == tried_to[node]) {
        find("reach", node + " accepts no connection of others: " + why[{others[0], node}],
             "a firewall on " + node + " may close the ephemeral ports between nodes");
        for (const std::string& other : others) why.erase({other, node});
      }
    for (const auto& [node, others] : from) {
      const bool is_new = std::any_of(others.begin(), others.end(), [&why, &from = node](const auto& other) {
        return why.contains({from, other});
      });
      if (is_new && tried_from[node] > 1 && static_cast<int>(others.size()) == tried_from[node]) {
        find("reach", node + " can connect to no other: " + why[{node, others[0]}],
             "a firewall on " + node + " may close the way out");
        for (const std::string& other : others) why.erase({node, other});
      }
    }
    for (const auto& [pair, error] : why)
      find("reach", pair.first + " cannot connect to " + pair.second + ": " + error,
           "a firewall on either side may close the ephemeral ports between nodes");
  }

  template <class Function>
  void for_each_link(Function function) const {
    for (const auto& report : gathered_.ranks)
      if (report)
        for (const Link& link : report->links)
          if (is_there(link.to)) function(*report, link);
  }

  void slow_links() {
    std::vector<double> bandwidths, latencies;
    std::map<std::string, std::vector<double>> of_node;
    for_each_link([&](const RankReport& report, const Link& link) {
      if (!link.error.empty()) return;
      bandwidths.push_back(link.bandwidth);
      latencies.push_back(link.latency);
      of_node[name_of(report.rank)].push_back(link.bandwidth);
      of_node[name_of(link.to)].push_back(link.bandwidth);
    });
    if (bandwidths.empty()) return;
    const double usual = best_quarter(bandwidths, std::greater<>()),
                 usual_latency = best_quarter(latencies, std::less<>());
    // Two nodes have one link, and ranks of one node have none: nothing to compare with.
    const bool compares = nodes_.size() > 2;
    const double least = std::max(compares ? usual / kSlow : 0, limits_.bandwidth);
    double most = compares ? std::max(usual_latency * kSlow, usual_latency + kSlowLatency) : 1e9;
    if (limits_.latency > 0) most = std::min(most, limits_.latency);
    std::set<std::string> slow;
    for (const auto& [node, values] : of_node)
      if (compares && *std::max_element(values.begin(), values.end()) < least) {
        slow.insert(node);
        find("link",
             "all links of " + node + " are slow: " + shown_rate(median(values)) + ", others have " +
                 shown_rate(usual),
             kSpeedHint);
      }
    for_each_link([&](const RankReport& report, const Link& link) {
      const std::string a = name_of(report.rank), b = name_of(link.to);
      if (!link.error.empty() || slow.contains(a) || slow.contains(b)) return;
      const std::string is_slow = "the link from " + a + " to " + b + " is slow: ";
      if (link.bandwidth < least)
        find("link", is_slow + shown_rate(link.bandwidth) + compared(usual, limits_.bandwidth, shown_rate),
             limits_.bandwidth > 0 ? kSpeedHint + std::string("; --min-bandwidth counts bytes, not bits")
                                   : kSpeedHint);
      else if (link.latency > most)
        find("link",
             is_slow + "latency " + shown_time(link.latency) +
                 compared(usual_latency, limits_.latency, shown_time),
             "another program on the nodes' cores, power saving, or a long way through switches");
    });
  }

  static std::string compared(double usual, double limit, std::string (*shown)(double)) {
    return ", " + (limit > 0 ? "the limit is " + shown(limit) : "usual is " + shown(usual));
  }

  void clocks() {
    std::set<std::string> said;
    for (const auto& report : gathered_.ranks) {
      if (!report || !report->skew || !said.insert(report->node).second) continue;
      const double off = std::abs(report->skew->seconds);
      if (off - report->skew->uncertainty <= limits_.skew) {
        said.erase(report->node);  // another rank of it may see another clock
        continue;
      }
      find("clock",
           "the clock of rank " + std::to_string(report->rank) + " on " + report->node + " is " +
               three_digits(off) + " s " + (report->skew->seconds > 0 ? "ahead of" : "behind") +
               " rank 0's on " + node_of(0),
           "is chronyd or ntpd running there?");
    }
  }

  void equal() {
    const struct {
      const char* what;
      std::string Facts::*value;
      const char* hint;
    } rows[] = {
        {"GPUs", &Facts::gpus, "sinfo -o '%N %G' tells what Slurm takes the nodes for"},
        {"GPU driver", &Facts::driver,
         "an update of the nodes that is not through, or one that waits for a reboot?"},
        {"NCCL", &Facts::nccl, "LD_LIBRARY_PATH and the environment decide which one is found"},
        {"environment", &Facts::environment,
         "an environment that was built anew while nodes held the old one?"},
        {"pinstep-worker", &Facts::version, "command -v pinstep-worker on both tells which is found"},
    };
    for (const auto& row : rows) {
      std::map<std::string, std::vector<const RankReport*>> groups;
      for (const auto& report : gathered_.ranks)
        if (report) groups[report->facts.*row.value].push_back(&*report);
      const auto most = std::max_element(groups.begin(), groups.end(), [](const auto& a, const auto& b) {
        return a.second.size() < b.second.size();
      });
      for (const auto& [value, reports] : groups)
        if (value != most->first)
          find("equal",
               std::string(row.what) + " of " + ranks_of(reports) + ": " + shown(value) + ", others have " +
                   shown(most->first),
               row.hint);
    }
  }

  static std::string shown(const std::string& value) { return value.empty() ? "none" : printable(value); }

  static std::string ranks_of(const std::vector<const RankReport*>& reports) {
    std::vector<std::string> names;
    for (const RankReport* report : reports)
      names.push_back("rank " + std::to_string(report->rank) + " on " + report->node);
    return list(names);
  }

  void enough() {
    for (const auto& [node, report] : speakers_) {
      const Facts& facts = report->facts;
      if (facts.memory / report->local_size < limits_.memory)
        find("memory",
             node + " has " + shown_size(facts.memory) + " of memory left for " +
                 how_many(report->local_size, "rank") + ", the limit is " + shown_size(limits_.memory) +
                 " for each",
             "--mem of sbatch, or what else runs there");
      if (facts.shm < limits_.shm)
        find("shm",
             node + " has " + shown_size(facts.shm) + " left in /dev/shm, the limit is " +
                 shown_size(limits_.shm),
             "NCCL and data loaders need it; a container's --shm-size, or files that a job left");
    }
    const std::uint64_t files = kFilesBeside + 2 * std::uint64_t{gathered_.size};
    for (const auto& [node, report] : speakers_)
      if (report->facts.open_files < files)
        find("files",
             node + " allows " + std::to_string(report->facts.open_files) + " open files, " +
                 std::to_string(gathered_.size) + " ranks need " + std::to_string(files),
             "ulimit -n; PropagateResourceLimits and LimitNOFILE of slurmd");
  }

  const Gathered& gathered_;
  const Limits& limits_;
  std::set<std::string> nodes_;
  std::map<std::string, const RankReport*> speakers_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> judge(const Gathered& gathered, const Limits& limits) {
  return Judge(gathered, limits).all();
}

Summary summarize(const Gathered& gathered) {
  Summary summary;
  std::set<std::string> nodes;
  for (const auto& report : gathered.ranks) {
    if (!report) continue;
    ++summary.ranks;
    nodes.insert(report->node);
    if (report->skew) summary.most_skew = std::max(summary.most_skew, std::abs(report->skew->seconds));
    for (const Link& link : report->links) {
      if (!link.error.empty()) continue;
      summary.most_latency = std::max(summary.most_latency, link.latency);
      summary.least_bandwidth =
          summary.links == 0 ? link.bandwidth : std::min(summary.least_bandwidth, link.bandwidth);
      ++summary.links;
    }
  }
  summary.nodes = static_cast<std::uint32_t>(nodes.size());
  return summary;
}

}  // namespace pinstep::worker
