#include "launcher/worker/store/roll.h"

#include <algorithm>
#include <array>
#include <set>

namespace pinstep::worker {
namespace {

constexpr std::array<std::string_view, 6> kKinds{"gone", "failed", "silent", "cut_off", "stuck", "unknown"};
// Who lives is heard several times in this.
constexpr std::chrono::milliseconds kLately{1000};

}  // namespace

std::string_view to_string(Verdict::Kind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::optional<Verdict::Kind> parse_verdict_kind(std::string_view name) {
  const auto found = std::find(kKinds.begin(), kKinds.end(), name);
  if (found == kKinds.end()) return std::nullopt;
  return static_cast<Verdict::Kind>(found - kKinds.begin());
}

Result<void> Roll::arrive(std::uint32_t rank, const std::string& node) {
  if (rank >= size())
    return fail(ErrorKind::conflict,
                "rank " + std::to_string(rank) + " among " + std::to_string(size()) + " ranks");
  Member& member = members_[rank];
  if (member.state != State::missing)
    return fail(ErrorKind::conflict,
                "there are two with rank " + std::to_string(rank) + ", on " + member.node + " and " + node);
  member = {State::present, node, 0, {}};
  return {};
}

void Roll::lose(std::uint32_t rank) {
  Member& member = members_[rank];
  // Who reported knows the verdict or will not hear it: it may go.
  if (member.state == State::present && !first_)
    first_ = Verdict{Verdict::Kind::gone, {rank}, name({rank}) + " is gone"};
  member.state = member.state == State::reported ? State::left : State::gone;
}

void Roll::report(std::uint32_t rank, const std::optional<std::string>& own_error, Moment now) {
  members_[rank].state = State::reported;
  if (own_error && !first_)
    first_ = Verdict{Verdict::Kind::failed, {rank}, name({rank}) + " has failed: " + *own_error};
  if (!first_report_) first_report_ = now;
}

void Roll::hear(std::uint32_t rank, std::uint64_t reached, Moment now) {
  members_[rank].reached = reached;
  members_[rank].heard = now;
}

std::optional<Verdict> Roll::verdict(Moment now) const {
  if (first_) return first_;
  if (!first_report_) return std::nullopt;
  const bool all_reported = std::none_of(members_.begin(), members_.end(), [](const Member& member) {
    return member.state == State::present || member.state == State::missing;
  });
  if (!all_reported && now < *due()) return std::nullopt;
  return blame(now);
}

bool Roll::hears_somebody(Moment now) const {
  return std::any_of(members_.begin(), members_.end(), [&](const Member& member) {
    return member.state == State::present && member.heard && now - *member.heard <= kLately;
  });
}

Verdict Roll::blame(Moment now) const {
  std::uint64_t front = 0;
  for (const Member& member : members_) front = std::max(front, member.reached);
  std::vector<std::uint32_t> silent, stuck;
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    const Member& member = members_[rank];
    if (member.state != State::present && member.state != State::missing) continue;
    if (!member.heard || now - *member.heard > kLately)
      silent.push_back(rank);
    else if (member.reached < front)
      stuck.push_back(rank);
  }
  if (!silent.empty()) return blame_silent(silent);
  if (stuck.empty()) return {Verdict::Kind::unknown, {}, "no rank is missing"};
  return {Verdict::Kind::stuck, stuck,
          name(stuck) + (stuck.size() == 1 ? " is" : " are") + " alive and did not get to collective " +
              std::to_string(front) + ", only to " + std::to_string(members_[stuck[0]].reached)};
}

Verdict Roll::blame_silent(const std::vector<std::uint32_t>& silent) const {
  std::set<std::string> nodes;
  std::vector<std::uint32_t> here, elsewhere;
  for (std::uint32_t rank = 0; rank < size(); ++rank) {
    const bool is_here = members_[rank].node == members_[0].node;
    (is_here ? here : elsewhere).push_back(rank);
    if (!is_here && members_[rank].state != State::missing) nodes.insert(members_[rank].node);
  }
  if (nodes.size() > 1 && silent == elsewhere)
    return {Verdict::Kind::cut_off, here,
            name(here) + (here.size() == 1 ? " is" : " are") + " cut off the network: none of " +
                std::to_string(nodes.size()) + " other nodes answers"};
  return {Verdict::Kind::silent, silent, name(silent) + (silent.size() == 1 ? " does" : " do") + " not answer"};
}

std::optional<Roll::Moment> Roll::due() const {
  if (!first_report_) return std::nullopt;
  return *first_report_ + grace_;
}

std::uint32_t Roll::present() const {
  return static_cast<std::uint32_t>(std::count_if(members_.begin(), members_.end(), [](const Member& member) {
    return member.state == State::present || member.state == State::reported;
  }));
}

std::vector<std::uint32_t> Roll::missing() const {
  std::vector<std::uint32_t> ranks;
  for (std::uint32_t rank = 0; rank < size(); ++rank)
    if (members_[rank].state == State::missing) ranks.push_back(rank);
  return ranks;
}

std::string Roll::name(const std::vector<std::uint32_t>& ranks) const {
  constexpr std::size_t kMost = 8;
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size() && i < kMost; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string(ranks[i]);
    if (!members_[ranks[i]].node.empty()) text += " on " + members_[ranks[i]].node;
  }
  if (ranks.size() > kMost) text += " and " + std::to_string(ranks.size() - kMost) + " more";
  return text;
}

}  // namespace pinstep::worker
