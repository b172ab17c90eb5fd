// The counts of cores that ranks can have at the same time are the independent vectors of a polymatroid (each
// core can go to the ranks that are at home there). On those, giving one core at a time to the rank that
// has fewest, where it can still be given one, maximises the sum and then minimises the spread. A limit on the
// sum leaves it a polymatroid, so with cores that are to stay free it only ends earlier.
#include <algorithm>

#include "launcher/assign/assign.h"

namespace pinstep {
namespace {

class Dealing {
 public:
  Dealing(const std::vector<CoreGroup>& groups, std::vector<std::vector<bool>> may)
      : groups_(groups),
        may_(std::move(may)),
        shares_(may_.size(), std::vector<std::size_t>(groups.size(), 0)),
        free_(groups.size()) {
    for (std::size_t g = 0; g < groups.size(); ++g) free_[g] = groups[g].cores;
  }

  // One core more for the rank, others moving to other groups if they must.
  bool give(std::size_t rank) {
    std::vector<bool> seen(may_.size(), false);
    return augment(rank, seen);
  }

  void allow_everywhere(std::size_t rank) { may_[rank].assign(groups_.size(), true); }

  std::size_t count(std::size_t rank) const {
    std::size_t count = 0;
    for (const std::size_t share : shares_[rank]) count += share;
    return count;
  }

  // Where two ranks both have cores of the same two groups they trade, until one of them has none of one.
  void part() {
    for (std::size_t a = 0; a < shares_.size(); ++a)
      for (std::size_t b = a + 1; b < shares_.size(); ++b)
        for (std::size_t g = 0; g < groups_.size(); ++g)
          for (std::size_t h = g + 1; h < groups_.size(); ++h) trade(shares_[a], shares_[b], g, h);
  }

  std::vector<std::vector<std::size_t>> take() { return std::move(shares_); }

 private:
  using Shares = std::vector<std::size_t>;

  // The first one's cores of h against the other's of g.
  static void trade(Shares& a, Shares& b, std::size_t g, std::size_t h) {
    if (a[g] == 0 || a[h] == 0 || b[g] == 0 || b[h] == 0) return;
    const std::size_t cores = std::min(a[h], b[g]);
    a[g] += cores, a[h] -= cores;
    b[g] -= cores, b[h] += cores;
  }

  bool augment(std::size_t rank, std::vector<bool>& seen) {
    seen[rank] = true;
    for (std::size_t g = 0; g < groups_.size(); ++g)
      if (may_[rank][g] && free_[g] > 0) {
        --free_[g];
        ++shares_[rank][g];
        return true;
      }
    for (std::size_t g = 0; g < groups_.size(); ++g) {
      if (!may_[rank][g]) continue;
      for (std::size_t other = 0; other < may_.size(); ++other) {
        if (seen[other] || shares_[other][g] == 0 || !augment(other, seen)) continue;
        --shares_[other][g];
        ++shares_[rank][g];
        return true;
      }
    }
    return false;
  }

  const std::vector<CoreGroup>& groups_;
  std::vector<std::vector<bool>> may_;
  std::vector<std::vector<std::size_t>> shares_;
  std::vector<std::size_t> free_;
};

// Without GPUs nothing draws a rank anywhere: neighbours get neighbouring cores, all but the first `kept`.
CoreShares share_evenly(const std::vector<CoreGroup>& groups, std::size_t ranks, std::size_t cores,
                        std::size_t kept) {
  CoreShares result;
  result.shares.assign(ranks, std::vector<std::size_t>(groups.size(), 0));
  std::size_t group = 0;
  std::size_t taken = kept;  // of the group
  for (; taken > groups[group].cores; ++group) taken -= groups[group].cores;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    for (std::size_t n = (rank + 1) * cores / ranks - rank * cores / ranks; n > 0; --n) {
      while (taken == groups[group].cores) ++group, taken = 0;
      ++taken;
      ++result.shares[rank][group];
    }
  return result;
}

void count_up(CoreShares& result) {
  std::size_t most = 0;
  std::size_t fewest = SIZE_MAX;
  for (const auto& shares : result.shares) {
    std::size_t count = 0;
    for (const std::size_t share : shares) count += share;
    result.dealt += count;
    most = std::max(most, count);
    fewest = std::min(fewest, count);
  }
  result.spread = most - fewest;
}

}  // namespace

std::optional<CoreShares> share_cores(const std::vector<CoreGroup>& groups, const std::vector<Bits>& homes,
                                      std::size_t kept) {
  std::size_t cores = 0;
  for (const CoreGroup& group : groups) cores += group.cores;
  const std::size_t ranks = homes.size();
  if (ranks == 0 || cores < ranks || cores - ranks < kept) return std::nullopt;
  cores -= kept;
  if (std::all_of(homes.begin(), homes.end(), [](const Bits& home) { return home.empty(); })) {
    CoreShares even = share_evenly(groups, ranks, cores, kept);
    count_up(even);
    return even;
  }

  std::vector<std::vector<bool>> may(ranks, std::vector<bool>(groups.size()));
  for (std::size_t rank = 0; rank < ranks; ++rank)
    for (std::size_t g = 0; g < groups.size(); ++g)
      may[rank][g] = homes[rank].empty() || homes[rank].has(groups[g].node);
  Dealing dealing(groups, std::move(may));
  CoreShares result;
  std::vector<std::size_t> off;
  for (std::size_t rank = 0; rank < ranks; ++rank)
    if (!dealing.give(rank)) off.push_back(rank);
  // As many as can be are at home with one core; there are cores for the others, since there are enough.
  for (const std::size_t rank : off) {
    dealing.allow_everywhere(rank);
    dealing.give(rank);
  }
  result.off = off.size();

  std::vector<bool> full(ranks, false);
  for (std::size_t dealt = ranks; dealt < cores;) {
    std::size_t next = ranks;
    for (std::size_t rank = 0; rank < ranks; ++rank)
      if (!full[rank] && (next == ranks || dealing.count(rank) < dealing.count(next) ||
                          (kept > 0 && dealing.count(rank) == dealing.count(next))))
        next = rank;  // of equals the first; the last where the first ones' places are to stay free
    if (next == ranks) break;
    full[next] = !dealing.give(next);
    dealt += full[next] ? 0 : 1;
  }
  dealing.part();
  result.shares = dealing.take();
  count_up(result);
  return result;
}

}  // namespace pinstep
