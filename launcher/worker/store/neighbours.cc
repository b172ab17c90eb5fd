#include "launcher/worker/store/neighbours.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace pinstep::worker {
namespace {

constexpr std::size_t kBeside = 2;
// What was on its way when the store fell silent; and more than two beats.
constexpr std::chrono::milliseconds kMargin{500};

std::string name(const Seat& seat) { return "rank " + std::to_string(seat.rank) + " on " + seat.node; }

// Of those on other nodes.
struct Evidence {
  const Sight* heard = nullptr;     // after the store fell silent
  const Sight* answered = nullptr;  // likewise, and the store answers it
  const Sight* lost = nullptr;      // heard before, and no more; not on the node of the store
  std::set<std::string> lost_nodes;
};

Evidence evidence_of(const Seat& own, const Seat& host, const std::vector<Sight>& sights, Roll::Moment since) {
  Evidence evidence;
  const auto is_later = [&](std::optional<Roll::Moment> moment) { return moment && *moment > since + kMargin; };
  for (const Sight& sight : sights) {
    if (sight.seat.node == own.node || !sight.sign) continue;
    if (!is_later(sight.sign)) {
      evidence.lost_nodes.insert(sight.seat.node);
      if (sight.seat.node != host.node) evidence.lost = &sight;
    } else if (sight.seat.rank != host.rank) {
      evidence.heard = &sight;
      if (is_later(sight.answered)) evidence.answered = &sight;
    }
  }
  return evidence;
}

}  // namespace

std::vector<std::uint32_t> ring_of(const std::vector<std::string>& nodes) {
  std::map<std::string, std::uint32_t> firsts, counts;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> places;  // number on its node, the node's first rank
  for (std::uint32_t rank = 0; rank < nodes.size(); ++rank)
    places.emplace_back(counts[nodes[rank]]++, firsts.try_emplace(nodes[rank], rank).first->second);
  std::vector<std::uint32_t> ring(nodes.size());
  std::iota(ring.begin(), ring.end(), 0U);
  std::sort(ring.begin(), ring.end(), [&](std::uint32_t a, std::uint32_t b) { return places[a] < places[b]; });
  return ring;
}

Neighbours neighbours_of(std::uint32_t rank, const std::vector<std::string>& nodes) {
  const auto ring = ring_of(nodes);
  const auto own = static_cast<std::size_t>(std::find(ring.begin(), ring.end(), rank) - ring.begin());
  Neighbours neighbours;
  for (std::size_t i = 1; i <= kBeside && i < ring.size(); ++i) {
    neighbours.next.push_back(ring[(own + i) % ring.size()]);
    neighbours.previous.push_back(ring[(own + ring.size() - i) % ring.size()]);
  }
  return neighbours;
}

Verdict judge_silence(const Seat& own, const Seat& host, const std::vector<Sight>& sights, Roll::Moment since) {
  using Kind = Verdict::Kind;
  const std::string accusation = name(host) + " does not answer";
  if (own.node == host.node) return {Kind::silent, {host.rank}, accusation};
  Evidence evidence = evidence_of(own, host, sights, since);
  if (evidence.answered != nullptr)
    return {Kind::cut_off,
            {own.rank},
            name(own) + " does not reach " + name(host) + ", and " + name(evidence.answered->seat) + " does"};
  if (evidence.heard != nullptr)
    return {Kind::silent,
            {host.rank},
            accusation + ", and its neighbour " + name(evidence.heard->seat) + " is heard"};
  evidence.lost_nodes.insert(host.node);
  if (evidence.lost_nodes.size() > 1)
    return {Kind::cut_off,
            {own.rank},
            name(own) + " is cut off the network: neither " + name(host) + " nor " + name(evidence.lost->seat) +
                " is heard"};
  return {Kind::silent, {host.rank}, accusation + ", and no third node is there to ask"};
}

}  // namespace pinstep::worker
