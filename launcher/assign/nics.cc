// The value of a GPU depends on how many others its card serves. For given loads of the cards it does
// not: then the best choice is an assignment problem. So: go through the loads, leave out those that
// cannot be best, solve the rest.
#include <algorithm>
#include <bit>
#include <compare>
#include <map>
#include <numeric>

#include "launcher/assign/assign.h"

namespace pinstep {
namespace {

using Loads = std::vector<std::size_t>;  // GPUs of each card

// The objective as one additive cost, compared field by field.
struct Cost {
  std::int64_t lost = 0;   // bandwidth a GPU does not get
  std::int64_t minor = 0;  // level cost, then rails
  __int128 order = 0;      // cards as digits: the least is first in bus order

  Cost& operator+=(const Cost& other) {
    lost += other.lost, minor += other.minor, order += other.order;
    return *this;
  }
  Cost& operator-=(const Cost& other) {
    lost -= other.lost, minor -= other.minor, order -= other.order;
    return *this;
  }
  friend Cost operator-(Cost a, const Cost& b) { return a -= b; }
  auto operator<=>(const Cost&) const = default;
};

constexpr std::int64_t kRails = 1024;  // more than there are GPUs

// A multiple of all loads that cards can have and of the weights' unit.
std::int64_t unit_for(std::size_t gpus) {
  std::int64_t unit = kWeightUnit;
  for (std::size_t load = 1; load <= gpus; ++load) unit = std::lcm(unit, static_cast<std::int64_t>(load));
  return unit;
}

// What a GPU gets of its card that it shares with others.
std::int64_t value(std::int64_t unit, Level level, std::size_t load) {
  return std::min(unit / kWeightUnit * kWeight[static_cast<std::size_t>(level)],
                  unit / static_cast<std::int64_t>(load));
}

// The assignment problem with as many slots as rows: the Hungarian method with potentials, which needs no
// more of Cost than that it is an ordered group. Returns the slot of each row.
std::vector<std::size_t> solve(const std::vector<std::vector<Cost>>& cost) {
  const std::size_t size = cost.size();
  const Cost infinite{INT64_MAX / 4, 0, 0};
  std::vector<Cost> row_potential(size + 1), slot_potential(size + 1);
  std::vector<std::size_t> row_of(size + 1, 0), way(size + 1, 0);
  for (std::size_t row = 1; row <= size; ++row) {
    row_of[0] = row;
    std::size_t slot = 0;
    std::vector<Cost> least(size + 1, infinite);
    std::vector<bool> used(size + 1, false);
    do {
      used[slot] = true;
      const std::size_t at = row_of[slot];
      Cost delta = infinite;
      std::size_t next = 0;
      for (std::size_t s = 1; s <= size; ++s) {
        if (used[s]) continue;
        const Cost reduced = cost[at - 1][s - 1] - row_potential[at] - slot_potential[s];
        if (reduced < least[s]) least[s] = reduced, way[s] = slot;
        if (least[s] < delta) delta = least[s], next = s;
      }
      for (std::size_t s = 0; s <= size; ++s) {
        if (used[s])
          row_potential[row_of[s]] += delta, slot_potential[s] -= delta;
        else
          least[s] -= delta;
      }
      slot = next;
    } while (row_of[slot] != 0);
    for (; slot != 0; slot = way[slot]) row_of[slot] = row_of[way[slot]];
  }
  std::vector<std::size_t> slots(size);
  for (std::size_t s = 1; s <= size; ++s) slots[row_of[s] - 1] = s - 1;
  return slots;
}

class Search {
 public:
  Search(const Levels& levels, std::size_t limit)
      : levels_(levels),
        gpus_(levels.size()),
        cards_(levels.front().size()),
        limit_(limit),
        unit_(unit_for(gpus_)) {
    group_equal_cards();
    bound_the_rest();
  }

  NicAssignment run() {
    remember(greedy_loads());
    Loads loads(cards_, 0);
    visit(0, gpus_, loads);
    std::optional<std::pair<Cost, std::vector<std::size_t>>> best;
    // The likely ones first: the others are then seen not to be better without being solved.
    std::stable_sort(best_loads_.begin(), best_loads_.end(), [&](const Loads& a, const Loads& b) {
      return off_rail_in_any_order(a) < off_rail_in_any_order(b);
    });
    for (const Loads& candidate : best_loads_) {
      if (best && off_rail_in_any_order(candidate) > best->first.minor % kRails) continue;
      Loads permuted = candidate;
      place_class(0, permuted, best);
    }
    return result(best->second);
  }

 private:
  std::int64_t value_of(std::size_t gpu, std::size_t card, std::size_t load) const {
    return value(unit_, levels_[gpu][card], load);
  }

  // Cards that are equally far from every GPU are interchangeable until rails and bus order decide.
  void group_equal_cards() {
    std::map<std::vector<Level>, std::vector<std::size_t>> classes;
    for (std::size_t card = 0; card < cards_; ++card) {
      std::vector<Level> column;
      for (const auto& row : levels_) column.push_back(row[card]);
      classes[column].push_back(card);
    }
    for (auto& [column, members] : classes) classes_.push_back(std::move(members));
    for (const auto& members : classes_)
      for (std::size_t i = 0; i < members.size(); ++i) order_.push_back({members[i], i > 0});
  }

  // What each card can give to so many GPUs at the very most, and how near they can be at best. rest_[i][r]:
  // what the cards from the i-th on can give to r GPUs.
  void bound_the_rest() {
    most_.assign(cards_, std::vector<std::int64_t>(gpus_ + 1, 0));
    nearest_ = most_;
    for (std::size_t card = 0; card < cards_; ++card) {
      std::vector<Level> column;
      for (const auto& row : levels_) column.push_back(row[card]);
      std::sort(column.begin(), column.end());
      for (std::size_t load = 1; load <= gpus_; ++load) {
        for (std::size_t i = 0; i < load; ++i) most_[card][load] += value(unit_, column[i], load);
        nearest_[card][load] = nearest_[card][load - 1] + static_cast<std::int64_t>(column[load - 1]);
      }
    }
    rest_.assign(cards_ + 1, std::vector<std::int64_t>(gpus_ + 1, INT64_MIN / 2));
    rest_[cards_][0] = 0;
    for (std::size_t i = cards_; i-- > 0;)
      for (std::size_t r = 0; r <= gpus_; ++r)
        for (std::size_t load = 0; load <= r; ++load)
          rest_[i][r] = std::max(rest_[i][r], most_[order_[i].card][load] + rest_[i + 1][r - load]);
  }

  Loads greedy_loads() const {
    Loads loads(cards_, 0);
    for (std::size_t gpu = 0; gpu < gpus_; ++gpu) {
      std::size_t best = 0;
      for (std::size_t card = 1; card < cards_; ++card)
        if (value_of(gpu, card, loads[card] + 1) > value_of(gpu, best, loads[best] + 1)) best = card;
      ++loads[best];
    }
    return loads;
  }

  // What each GPU and all cards can give at most when the first `i` cards have these loads.
  bool can_be_best(std::size_t i, std::size_t left, const Loads& loads) const {
    std::int64_t by_cards = rest_[i][left];
    std::int64_t levels_of_cards = 0;
    for (std::size_t j = 0; j < i; ++j) {
      const std::size_t card = order_[j].card;
      by_cards += most_[card][loads[card]];
      levels_of_cards += nearest_[card][loads[card]];
    }
    std::int64_t by_gpus = 0;
    std::int64_t levels = 0;
    for (std::size_t gpu = 0; gpu < gpus_; ++gpu) {
      std::int64_t most = 0;
      std::int64_t nearest = kLevels;
      for (std::size_t j = 0; j < cards_; ++j) {
        const std::size_t card = order_[j].card;
        if (j < i && loads[card] == 0) continue;
        most = std::max(most, value_of(gpu, card, j < i ? loads[card] : 1));
        nearest = std::min(nearest, static_cast<std::int64_t>(levels_[gpu][card]));
      }
      by_gpus += most;
      levels += nearest;
    }
    return Cost{total() - std::min(by_cards, by_gpus), std::max(levels, levels_of_cards), 0} <= best_;
  }

  std::int64_t total() const { return unit_ * static_cast<std::int64_t>(gpus_); }

  void visit(std::size_t i, std::size_t left, Loads& loads) {
    if (++steps_ > limit_ || !can_be_best(i, left, loads)) return;
    if (i == cards_) {
      if (left == 0) remember(loads);
      return;
    }
    const auto [card, has_twin] = order_[i];
    const std::size_t most = has_twin ? std::min(left, loads[order_[i - 1].card]) : left;
    for (std::size_t load = most + 1; load-- > 0;) {
      loads[card] = load;
      visit(i + 1, left - load, loads);
    }
    loads[card] = 0;
  }

  std::vector<std::size_t> match(const Loads& loads, bool to_the_end, Cost& sum) const {
    std::vector<std::size_t> card_of_slot;
    for (std::size_t card = 0; card < cards_; ++card)
      card_of_slot.insert(card_of_slot.end(), loads[card], card);
    // As many leading digits as the number holds: 126 bits.
    const std::size_t digits =
        std::min(gpus_, static_cast<std::size_t>(126 / std::max(1, static_cast<int>(std::bit_width(cards_)))));
    std::vector<__int128> digit(gpus_, 0);
    for (std::size_t gpu = digits; gpu-- > 0;)
      digit[gpu] = gpu + 1 == digits ? 1 : digit[gpu + 1] * static_cast<__int128>(cards_);
    const auto cost_of = [&](std::size_t gpu, std::size_t card) {
      Cost cost{unit_ - value_of(gpu, card, loads[card]), static_cast<std::int64_t>(levels_[gpu][card]), 0};
      if (!to_the_end) return cost;
      cost.minor = cost.minor * kRails + (card == nominal_rail(gpu, gpus_, cards_) ? 0 : 1);
      cost.order = digit[gpu] * static_cast<__int128>(card);
      return cost;
    };
    std::vector<std::vector<Cost>> cost(gpus_);
    for (std::size_t gpu = 0; gpu < gpus_; ++gpu)
      for (const std::size_t card : card_of_slot) cost[gpu].push_back(cost_of(gpu, card));
    std::vector<std::size_t> cards = solve(cost);
    sum = {};
    for (std::size_t gpu = 0; gpu < gpus_; ++gpu) {
      sum += cost[gpu][cards[gpu]];
      cards[gpu] = card_of_slot[cards[gpu]];
    }
    return cards;
  }

  void remember(const Loads& loads) {
    Cost cost;
    match(loads, false, cost);
    if (best_loads_.empty() || cost < best_) {
      best_ = cost;
      best_loads_.clear();
    }
    // The greedy start is of the same shape as one that the search finds.
    if (cost == best_) best_loads_.push_back(loads);
  }

  static std::int64_t missing(const Loads& wanted, const Loads& loads) {
    std::size_t missing = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i] > loads[i]) missing += wanted[i] - loads[i];
    return static_cast<std::int64_t>(missing);
  }

  Loads nominal_loads() const {
    Loads nominal(cards_, 0);
    for (std::size_t gpu = 0; gpu < gpus_; ++gpu) ++nominal[nominal_rail(gpu, gpus_, cards_)];
    return nominal;
  }

  // So many GPUs at least are not on their rail with these loads.
  std::int64_t off_rail(const Loads& loads) const { return missing(nominal_loads(), loads); }

  // The same when the loads of equal cards may change places.
  std::int64_t off_rail_in_any_order(const Loads& loads) const {
    const Loads nominal = nominal_loads();
    std::int64_t off = 0;
    for (const auto& members : classes_) {
      Loads wanted, has;
      for (const std::size_t card : members) wanted.push_back(nominal[card]), has.push_back(loads[card]);
      std::sort(wanted.begin(), wanted.end());
      std::sort(has.begin(), has.end());
      off += missing(wanted, has);
    }
    return off;
  }

  // Stage two: equal cards differ in rail and bus order, so their loads are tried in every order.
  void place_class(std::size_t index, Loads& loads,
                   std::optional<std::pair<Cost, std::vector<std::size_t>>>& best) {
    if (++steps_ > limit_ && best) return;
    if (index == classes_.size()) {
      // All these loads have the same levels.
      if (best && off_rail(loads) > best->first.minor % kRails) return;
      Cost cost;
      auto cards = match(loads, true, cost);
      if (!best || cost < best->first) best = {cost, std::move(cards)};
      return;
    }
    const auto& members = classes_[index];
    Loads of_class;
    for (const std::size_t card : members) of_class.push_back(loads[card]);
    std::sort(of_class.begin(), of_class.end());
    do {
      for (std::size_t i = 0; i < members.size(); ++i) loads[members[i]] = of_class[i];
      place_class(index + 1, loads, best);
    } while (std::next_permutation(of_class.begin(), of_class.end()));
  }

  NicAssignment result(std::vector<std::size_t> cards) const {
    NicAssignment result = value_nics(levels_, std::move(cards));
    result.is_proven = steps_ <= limit_;
    return result;
  }

  struct Turn {
    std::size_t card;
    bool has_twin;  // equal to the card before it: takes no more GPUs than that
  };

  const Levels& levels_;
  const std::size_t gpus_;
  const std::size_t cards_;
  const std::size_t limit_;
  const std::int64_t unit_;
  std::size_t steps_ = 0;
  std::vector<std::vector<std::size_t>> classes_;
  std::vector<Turn> order_;
  std::vector<std::vector<std::int64_t>> most_;
  std::vector<std::vector<std::int64_t>> nearest_;
  std::vector<std::vector<std::int64_t>> rest_;
  Cost best_;
  std::vector<Loads> best_loads_;
};

}  // namespace

NicAssignment value_nics(const Levels& levels, std::vector<std::size_t> nic) {
  NicAssignment result;
  if (nic.empty()) return result;
  const std::size_t gpus = levels.size();
  const std::size_t cards = levels.front().size();
  std::vector<std::size_t> loads(cards, 0);
  for (const std::size_t card : nic) ++loads[card];
  result.unit = unit_for(gpus);
  for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
    const Level far = levels[gpu][nic[gpu]];
    result.bandwidth += value(result.unit, far, loads[nic[gpu]]);
    result.level_cost += static_cast<std::uint32_t>(far);
    result.rail_mismatch += nic[gpu] != nominal_rail(gpu, gpus, cards);
  }
  result.nic = std::move(nic);
  return result;
}

NicAssignment assign_nics(const Levels& levels, std::size_t limit) {
  if (levels.empty() || levels.front().empty()) return {};
  return Search(levels, limit).run();
}

}  // namespace pinstep
