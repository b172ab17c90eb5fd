#include "launcher/worker/check/check.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <thread>

#include "envtools/base/text.h"
#include "launcher/step/nodelist.h"
#include "launcher/worker/check/facts.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {
namespace {

constexpr std::size_t kMostPeers = 64;  // about 50 ms each
constexpr std::size_t kMostNodes = 100'000;
constexpr double kDoubtful = 2;  // times slower than the best of all ranks: measured again
constexpr int kTries = 6;
constexpr Milliseconds kBetweenTries{50};

std::string key(const char* what, std::uint32_t rank) {
  return "check/" + std::string(what) + "/" + std::to_string(rank);
}

// "10.0.0.1|41234|n1": where a rank answers.
std::string card(const std::string& host, std::uint16_t port, const std::string& node) {
  return host + "|" + std::to_string(port) + "|" + node;
}

struct Known {
  Peer peer;
  std::string node;
};

std::optional<Known> read_card(std::uint32_t rank, std::string_view text) {
  const auto parts = split(text, '|');
  if (parts.size() != 3) return std::nullopt;
  const auto port = parse_number<std::uint16_t>(parts[1]);
  if (!port) return std::nullopt;
  return Known{{rank, std::string(parts[0]), *port}, std::string(parts[2])};
}

Milliseconds left(Moment until) { return Milliseconds(poll_time(until)); }

// Whoever has come by then; by rank. Once a rank is gone the store waits for nobody.
std::vector<std::optional<Known>> meet_all(Session& session, Moment until) {
  std::vector<std::optional<Known>> known(session.place().size);
  for (std::uint32_t rank = 0; rank < known.size(); ++rank)
    if (const auto text = session.store()->get(key("at", rank), left(until)))
      known[rank] = read_card(rank, *text);
  return known;
}

// The best that a rank, or all of them, have seen.
struct Best {
  double bandwidth = 0;  // bytes per second
  double latency = 1e9;  // seconds

  void take(double other_bandwidth, double other_latency) {
    bandwidth = std::max(bandwidth, other_bandwidth);
    latency = std::min(latency, other_latency);
  }
};

// Each rank tells the others what it has seen: one whose node was busy all the time cannot tell from its own
// links that they look slow.
Best best_of_all(Session& session, Best own, const std::vector<std::optional<Known>>& known, Moment until) {
  Store& store = *session.store();
  const auto told = store.set(key("best", session.place().rank),
                              std::to_string(own.bandwidth) + "|" + std::to_string(own.latency * 1e9));
  if (!told) return own;
  for (std::uint32_t rank = 0; rank < known.size(); ++rank) {
    const auto text = known[rank] ? store.get(key("best", rank), left(until)) : fail(ErrorKind::not_found, "");
    const auto halves = text ? split_once(*text, '|') : std::nullopt;
    if (halves)
      own.take(std::strtod(std::string(halves->before).c_str(), nullptr),
               std::strtod(std::string(halves->after).c_str(), nullptr) / 1e9);
  }
  return own;
}

bool is_doubtful(const Link& link, const Best& best) {
  return link.error.empty() &&
         (link.bandwidth * kDoubtful < best.bandwidth || link.latency > best.latency * kDoubtful);
}

// The best of a few tries for those that look slow: something else may have used the network or the core. What
// is slow stays so.
void measure_again(Link& link, const Peer& peer, const Best& best, Moment until) {
  for (int i = 0; i < kTries && is_doubtful(link, best); ++i) {
    std::this_thread::sleep_for(kBetweenTries);
    if (std::chrono::steady_clock::now() >= until) return;
    const Link again = measure_link(peer, until);
    if (!again.error.empty()) return;
    link.bandwidth = std::max(link.bandwidth, again.bandwidth);
    link.latency = std::min(link.latency, again.latency);
  }
}

std::vector<Link> measure_all(Session& session, const std::vector<Peer>& peers,
                              const std::vector<std::optional<Known>>& known, Moment until) {
  std::vector<Link> links;
  Best best;
  for (const Peer& peer : peers) {
    const Link& link = links.emplace_back(measure_link(peer, until));
    if (link.error.empty()) best.take(link.bandwidth, link.latency);
  }
  best = best_of_all(session, best, known, until);
  for (std::size_t i = 0; i < links.size(); ++i) measure_again(links[i], peers[i], best, until);
  return links;
}

RankReport report_of(const Session& session, const std::string& node, const Environment& environment) {
  return {session.place().rank, session.place().local_size, node, look_at_node(environment), Skew{}, {}};
}

}  // namespace

std::vector<std::uint32_t> peers_of(std::uint32_t rank, const std::vector<std::string>& nodes) {
  std::set<std::string> seen;
  std::vector<std::uint32_t> firsts, present;
  for (std::uint32_t other = 0; other < nodes.size(); ++other) {
    if (nodes[other].empty()) continue;
    present.push_back(other);
    if (seen.insert(nodes[other]).second) firsts.push_back(other);
  }
  const auto& all = firsts.size() > 1 ? firsts : present;
  const auto own = std::find(all.begin(), all.end(), rank);
  std::vector<std::uint32_t> peers;
  if (own == all.end()) return peers;
  // Each begins with the one after itself, so that no rank is asked by all at once.
  for (std::size_t i = 1; i < all.size() && i <= kMostPeers; ++i)
    peers.push_back(all[(static_cast<std::size_t>(own - all.begin()) + i) % all.size()]);
  return peers;
}

Result<RankReport> look_around(Session& session, const std::string& node, const Environment& environment,
                               const Schedule& schedule) {
  RankReport report = report_of(session, node, environment);
  if (session.place().size == 1) return report;
  auto answerer = Answerer::start();
  if (!answerer) return tl::unexpected(answerer.error());
  Store& store = *session.store();
  PINSTEP_TRY(store.set(key("at", report.rank), card(session.address(), (*answerer)->port(), node)));
  const auto known = meet_all(session, schedule.arrived());
  std::vector<std::string> nodes;
  for (const auto& one : known) nodes.push_back(one ? one->node : "");
  std::vector<Peer> peers;
  for (const std::uint32_t rank : peers_of(report.rank, nodes)) peers.push_back(known[rank]->peer);
  report.links = measure_all(session, peers, known, schedule.measured());
  if (report.rank > 0 && known[0]) {
    const auto skew = measure_skew(known[0]->peer, schedule.measured());
    report.skew = skew ? std::optional(*skew) : std::nullopt;
  }
  PINSTEP_TRY(store.set(key("report", report.rank), dump_json(json_of(report))));
  // Until all have measured: they ask this rank.
  for (std::uint32_t rank = 0; rank < known.size(); ++rank)
    if (known[rank]) (void)store.get(key("report", rank), left(schedule.gathered()));
  return report;
}

Gathered gather(Session& session, RankReport own, const Environment& environment, const Schedule& schedule) {
  Gathered gathered;
  gathered.size = session.place().size;
  gathered.ranks.resize(gathered.size);
  if (const auto meeting = session.place().meeting)
    gathered.master = shown_address(meeting->hosts.empty() ? "" : meeting->hosts.front(), meeting->port);
  if (const auto list = environment.get("SLURM_STEP_NODELIST"))
    gathered.nodes = expand_node_list(*list, kMostNodes).value_or(std::vector<std::string>{});
  for (std::uint32_t rank = 1; rank < gathered.size; ++rank)
    if (const auto text = session.store()->get(key("report", rank), left(schedule.gathered())))
      gathered.ranks[rank] = read_rank_report(*text);
  gathered.ranks[0] = std::move(own);
  return gathered;
}

Result<void> tell(Session& session, bool is_well) {
  if (session.store() == nullptr) return {};
  return session.store()->set("check/verdict", is_well ? "fit" : "unfit");
}

Result<bool> hear(Session& session, const Schedule& schedule) {
  const auto word = session.store()->get("check/verdict", left(schedule.ended()));
  if (!word) return tl::unexpected(word.error());
  return *word == "fit";
}

}  // namespace pinstep::worker
