// The value of a GPU depends on how many others its card serves. For given loads of the cards it does
// not: then the best choice is an assignment problem. So: go through the loads, leave out those that
// cannot be best, solve the rest. Cards that are equally far from every GPU are a class: until rails and bus
// order decide, only the loads of a class count, not which of its cards has which.
#include <algorithm>
#include <bit>
#include <map>
#include <numeric>

#include "launcher/assign/assign.h"
#include "launcher/assign/assignment_problem.h"

namespace pinstep {
namespace {

using Loads = std::vector<std::size_t>;  // GPUs of each card

constexpr std::int64_t kRails = 1024;  // more than there are GPUs
constexpr int kOrderBits = 112;        // of a sum of digits: leaves room for sums of these

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

class Search {
 public:
  Search(const Levels& levels, std::size_t limit)
      : levels_(levels),
        gpus_(levels.size()),
        cards_(levels.front().size()),
        limit_(limit),
        unit_(unit_for(gpus_)),
        nominal_(cards_, 0) {
    for (const std::size_t card : rails()) ++nominal_[card];
    group_equal_cards();
    bound_the_rest();
  }

  NicAssignment run() {
    Loads loads(cards_, 0);
    // As good as none can be better, and no other has all GPUs on their rails.
    NicAssignment on_rails = value_nics(levels_, rails());
    if (Cost{total() - on_rails.bandwidth, on_rails.level_cost, 0} == least_cost(0, gpus_, loads))
      return on_rails;
    remember(greedy_loads());
    visit(0, gpus_, loads);
    // The likely ones first: the others are then seen not to be better without being solved.
    std::stable_sort(best_loads_.begin(), best_loads_.end(), [&](const Loads& a, const Loads& b) {
      return off_rail(0, to_arrange(a)) < off_rail(0, to_arrange(b));
    });
    for (const Loads& candidate : best_loads_) {
      Arrangement arrangement = to_arrange(candidate);
      arrange(0, arrangement);
    }
    return result();
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
    for (const auto& [column, members] : classes) {
      for (std::size_t i = 0; i < members.size(); ++i)
        order_.push_back({members[i], classes_, order_.size() + members.size() - i});
      ++classes_;
    }
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

  std::vector<std::size_t> rails() const {
    std::vector<std::size_t> cards;
    for (std::size_t gpu = 0; gpu < gpus_; ++gpu) cards.push_back(nominal_rail(gpu, gpus_, cards_));
    return cards;
  }

  Loads greedy_loads() const {
    Loads loads(cards_, 0);
    for (std::size_t gpu = 0; gpu < gpus_; ++gpu) {
      std::size_t best = 0;
      for (std::size_t card = 1; card < cards_; ++card)
        if (value_of(gpu, card, loads[card] + 1) > value_of(gpu, best, loads[best] + 1)) best = card;
      ++loads[best];
    }
    for (std::size_t i = 0; i < cards_; i = order_[i].end) {
      Loads of_class = of_members(i, loads);
      std::sort(of_class.rbegin(), of_class.rend());
      for (std::size_t j = i; j < order_[i].end; ++j) loads[order_[j].card] = of_class[j - i];
    }
    return loads;
  }

  // Of the cards of one class, from the ith in order on.
  Loads of_members(std::size_t i, const Loads& loads) const {
    Loads of_class;
    for (std::size_t j = i; j < order_[i].end; ++j) of_class.push_back(loads[order_[j].card]);
    return of_class;
  }

  // No choice costs less when the first `i` cards have these loads, by what each GPU and all cards can give at
  // most.
  Cost least_cost(std::size_t i, std::size_t left, const Loads& loads) const {
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
    return {total() - std::min(by_cards, by_gpus), std::max(levels, levels_of_cards), 0};
  }

  std::int64_t total() const { return unit_ * static_cast<std::int64_t>(gpus_); }

  // Whether it can be with the GPUs chosen that the first `i` cards have, each as many as its load. The other
  // cards are there for as many GPUs as want them.
  bool can_be_best(std::size_t i, const Loads& loads) {
    Loads fixed(cards_, 0);
    for (std::size_t j = 0; j < i; ++j) fixed[order_[j].card] = loads[order_[j].card];
    const Loads card_of_slot = slots_of(fixed);
    const Loads alone(cards_, 1);
    std::vector<std::vector<Cost>> cost(gpus_);
    for (std::size_t gpu = 0; gpu < gpus_; ++gpu) {
      for (const std::size_t card : card_of_slot) cost[gpu].push_back(far_cost(gpu, card, loads));
      Cost least{total(), 0, 0};
      for (std::size_t j = i; j < cards_; ++j) least = std::min(least, far_cost(gpu, order_[j].card, alone));
      cost[gpu].resize(gpus_, least);
    }
    Cost sum;
    const auto slots = solve_assignment(cost, work_);
    for (std::size_t gpu = 0; gpu < gpus_; ++gpu) sum += cost[gpu][slots[gpu]];
    return sum <= best_;
  }

  void visit(std::size_t i, std::size_t left, Loads& loads) {
    work_ += gpus_ * cards_;
    if (is_over() || least_cost(i, left, loads) > best_) return;
    if (i == cards_) {
      if (left == 0) remember(loads);
      return;
    }
    const auto& [card, group, end] = order_[i];
    const bool is_first = i == 0 || order_[i - 1].group != group;
    if (i > 0 && is_first && !can_be_best(i, loads)) return;
    // Equal to the card before it: takes no more GPUs than that.
    for (std::size_t load = is_first ? left : std::min(left, loads[order_[i - 1].card]); load > 0; --load) {
      loads[card] = load;
      visit(i + 1, left - load, loads);
    }
    loads[card] = 0;
    visit(end, left, loads);
  }

  Cost far_cost(std::size_t gpu, std::size_t card, const Loads& loads) const {
    return {unit_ - value_of(gpu, card, loads[card]), static_cast<std::int64_t>(levels_[gpu][card]), 0};
  }

  static Loads slots_of(const Loads& loads) {
    Loads card_of_slot;
    for (std::size_t card = 0; card < loads.size(); ++card)
      card_of_slot.insert(card_of_slot.end(), loads[card], card);
    return card_of_slot;
  }

  void remember(const Loads& loads) {
    const Loads card_of_slot = slots_of(loads);
    std::vector<std::vector<Cost>> cost(gpus_);
    for (std::size_t gpu = 0; gpu < gpus_; ++gpu)
      for (const std::size_t card : card_of_slot) cost[gpu].push_back(far_cost(gpu, card, loads));
    const auto slots = solve_assignment(cost, work_);
    Cost sum;
    for (std::size_t gpu = 0; gpu < gpus_; ++gpu) sum += cost[gpu][slots[gpu]];
    if (best_loads_.empty() || sum < best_) {
      best_ = sum;
      best_loads_.clear();
    }
    // The greedy start is one that the search finds again.
    if (sum == best_ && (best_loads_.empty() || loads != best_loads_.front())) best_loads_.push_back(loads);
  }

  // ---- stage two: rails and bus order, among the best loads

  // Cards in order are given a capacity, one of those that are left for their class. A GPU is worth what it is
  // at a card that is full, so that what is best is so in truth as well.
  struct Arrangement {
    Loads capacity;           // of each card
    std::vector<Loads> left;  // for the rest of each class, ascending
  };

  // Every way to have these loads, up to the order of equal cards, is within these capacities, and worth the
  // same. A card without GPUs may have as many as the others with the fewest; and where all are so far away
  // that sharing costs nothing each may have as many as the one with most. Then all capacities of a class are
  // the same, mostly.
  Arrangement to_arrange(const Loads& loads) const {
    Arrangement arrangement{Loads(cards_, 0), {}};
    for (std::size_t i = 0; i < cards_; i = order_[i].end) {
      Loads of_class = of_members(i, loads);
      std::sort(of_class.begin(), of_class.end());
      const std::size_t most = of_class.back();
      const auto fewest = std::upper_bound(of_class.begin(), of_class.end(), std::size_t{0});
      if (most > 0 && is_free_to_share(order_[i].card, most))
        of_class.assign(of_class.size(), most);
      else if (most > 0)
        std::fill(of_class.begin(), fewest, *fewest);
      arrangement.left.push_back(std::move(of_class));
    }
    return arrangement;
  }

  bool is_free_to_share(std::size_t card, std::size_t users) const {
    for (std::size_t gpu = 0; gpu < gpus_; ++gpu)
      if (value_of(gpu, card, users) != value_of(gpu, card, 1)) return false;
    return true;
  }

  static std::int64_t missing(const Loads& wanted, const Loads& capacity) {
    std::size_t missing = 0;
    for (std::size_t i = 0; i < wanted.size(); ++i)
      if (wanted[i] > capacity[i]) missing += wanted[i] - capacity[i];
    return static_cast<std::int64_t>(missing);
  }

  // So many GPUs at least are not on their rail, the first `i` cards having their capacities.
  std::int64_t off_rail(std::size_t i, const Arrangement& arrangement) const {
    std::int64_t off = 0;
    std::vector<Loads> wanted(classes_);
    for (std::size_t j = 0; j < cards_; ++j) {
      const auto& [card, group, end] = order_[j];
      if (j < i)
        off += missing({nominal_[card]}, {arrangement.capacity[card]});
      else
        wanted[group].push_back(nominal_[card]);
    }
    for (std::size_t group = 0; group < classes_; ++group) {
      std::sort(wanted[group].begin(), wanted[group].end());
      off += missing(wanted[group], arrangement.left[group]);
    }
    return off;
  }

  void arrange(std::size_t i, Arrangement& arrangement) {
    work_ += cards_;
    // On the rail with all GPUs there is one choice only.
    if (found_ && (found_->rails == 0 || is_over() || off_rail(i, arrangement) > found_->rails)) return;
    if (i == cards_) {
      consider(best_cards(arrangement.capacity));
      return;
    }
    const auto& [card, group, end] = order_[i];
    const Loads choices = arrangement.left[group];
    // First the least that is enough, then more, then less.
    const auto enough = std::lower_bound(choices.begin(), choices.end(), nominal_[card]);
    Loads in_turn(enough, choices.end());
    in_turn.insert(in_turn.end(), std::make_reverse_iterator(enough), choices.rend());
    in_turn.erase(std::unique(in_turn.begin(), in_turn.end()), in_turn.end());
    for (const std::size_t capacity : in_turn) {
      Loads& left = arrangement.left[group];
      left.erase(std::lower_bound(left.begin(), left.end(), capacity));
      arrangement.capacity[card] = capacity;
      arrange(i + 1, arrangement);
      left = choices;
    }
  }

  // Of all choices within these capacities. So many GPUs are put in bus order at a time as the number has
  // digits.
  std::vector<std::size_t> best_cards(const Loads& capacity) {
    const Loads card_of_slot = slots_of(capacity);
    const auto digits = static_cast<std::size_t>(kOrderBits / static_cast<int>(std::bit_width(cards_)));
    std::vector<std::size_t> cards(gpus_, 0);
    for (std::size_t first = 0; first < gpus_; first += digits) {
      std::vector<std::vector<Cost>> cost(gpus_);
      __int128 digit = 1;
      for (std::size_t gpu = gpus_; gpu-- > 0;) {
        const bool is_in_turn = gpu >= first && gpu < first + digits;
        for (const std::size_t card : card_of_slot) {
          Cost one = far_cost(gpu, card, capacity);
          one.minor = one.minor * kRails + (card == nominal_rail(gpu, gpus_, cards_) ? 0 : 1);
          if (is_in_turn) one.order = digit * static_cast<__int128>(card);
          if (gpu < first && card != cards[gpu]) one.lost = total();
          cost[gpu].push_back(one);
        }
        if (is_in_turn) digit *= static_cast<__int128>(cards_);
      }
      const auto slots = solve_assignment(cost, work_);
      for (std::size_t gpu = 0; gpu < gpus_; ++gpu) cards[gpu] = card_of_slot[slots[gpu]];
    }
    return cards;
  }

  void consider(std::vector<std::size_t> cards) {
    std::int64_t rails = 0;
    for (std::size_t gpu = 0; gpu < gpus_; ++gpu) rails += cards[gpu] != nominal_rail(gpu, gpus_, cards_);
    Found found{rails, std::move(cards)};
    if (!found_ || found < *found_) found_ = std::move(found);
  }

  bool is_over() const { return work_ > limit_; }

  NicAssignment result() const {
    NicAssignment result = value_nics(levels_, found_->cards);
    result.is_proven = !is_over();
    return result;
  }

  struct Turn {
    std::size_t card;
    std::size_t group;  // the class of equal cards that it is in
    std::size_t end;    // where in the order the class ends
  };

  struct Found {
    std::int64_t rails;
    std::vector<std::size_t> cards;
    auto operator<=>(const Found&) const = default;
  };

  const Levels& levels_;
  const std::size_t gpus_;
  const std::size_t cards_;
  const std::size_t limit_;
  const std::int64_t unit_;
  std::size_t work_ = 0;
  std::size_t classes_ = 0;
  std::vector<Turn> order_;
  Loads nominal_;  // GPUs of each card when each has its rail
  std::vector<std::vector<std::int64_t>> most_;
  std::vector<std::vector<std::int64_t>> nearest_;
  std::vector<std::vector<std::int64_t>> rest_;
  Cost best_;
  std::vector<Loads> best_loads_;
  std::optional<Found> found_;
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
