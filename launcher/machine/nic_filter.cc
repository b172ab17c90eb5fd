#include "launcher/machine/nic_filter.h"

#include <algorithm>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

std::string shown_name(const Nic& nic) { return nic.name.empty() ? nic.address.text() : nic.name; }

// A virtual machine may have virtual functions only: then they are its cards.
bool is_beside_its_physical_function(const Nic& nic, const std::vector<Nic>& nics) {
  if (!nic.is_virtual_function) return false;
  return std::any_of(nics.begin(), nics.end(), [&](const Nic& other) {
    if (other.is_virtual_function) return false;
    if (nic.physical) return other.address == *nic.physical;
    return other.address.domain == nic.address.domain && other.address.bus == nic.address.bus;
  });
}

bool are_on_one_adapter(const PciAddress& a, const PciAddress& b) {
  return a.domain == b.domain && a.bus == b.bus && a.device == b.device;
}

// Rates of ports if all are known, else those of the links to the bus; empty if neither are. A port without a
// link tells the rate it would start with.
std::vector<std::uint32_t> comparable_rates(const std::vector<Nic>& nics, const std::vector<std::size_t>& of) {
  for (const auto rate : {&Nic::rate, &Nic::bus_rate}) {
    std::vector<std::uint32_t> rates;
    for (const std::size_t i : of)
      if (rate != &Nic::rate || nics[i].link != Link::down) rates.push_back(nics[i].*rate);
    if (rates.size() == of.size() && std::find(rates.begin(), rates.end(), 0U) == rates.end()) return rates;
  }
  return {};
}

// An adapter's ports go by its fastest: who wires a slower second one uses both.
std::vector<std::uint32_t> adapter_rates(const std::vector<Nic>& nics, const std::vector<std::size_t>& of,
                                         const std::vector<std::uint32_t>& rates) {
  std::vector<std::uint32_t> best = rates;
  for (std::size_t i = 0; i < rates.size(); ++i)
    for (std::size_t k = 0; k < rates.size(); ++k)
      if (are_on_one_adapter(nics[of[i]].address, nics[of[k]].address)) best[i] = std::max(best[i], rates[k]);
  return best;
}

std::string gigabits(std::uint32_t megabits) { return std::to_string(megabits / 1000) + " Gb/s"; }

class Filter {
 public:
  Filter(const std::vector<Nic>& nics, const NicRules& rules) : nics_(nics), rules_(rules) {
    const auto has_verbs = [](const Nic& nic) { return nic.has_verbs; };
    if (rules.list_is_nccls && std::none_of(nics.begin(), nics.end(), has_verbs)) rules_.list.reset();
  }

  NicChoice choose() {
    for (std::size_t i = 0; i < nics_.size(); ++i) sort_out(i);
    if (!is_asked_) {
      keep_best_network();
      keep_plain_cards();
      keep_fastest();
    }
    return std::move(choice_);
  }

 private:
  void drop(std::size_t nic, std::string reason) {
    choice_.dropped.push_back({shown_name(nics_[nic]), std::move(reason)});
  }

  // By what is true of one card, whatever the others are.
  void sort_out(std::size_t i) {
    const Nic& nic = nics_[i];
    const bool is_listed = rules_.list && rules_.list->names(shown_name(nic));
    const bool is_asked = is_listed && !rules_.list->excludes();
    if (is_listed && rules_.list->excludes())
      drop(i, "excluded by " + rules_.list_name);
    else if (rules_.list && !rules_.list->excludes() && !is_listed)
      drop(i, "not in " + rules_.list_name);
    else if (!nic.is_on_bus)
      drop(i, "not on the PCI bus");
    else if (!is_asked && is_beside_its_physical_function(nic, nics_))
      drop(i, "virtual function");
    else if (nic.name.empty())
      drop(i, "no driver");
    else if (nic.link == Link::down && !rules_.ignores_link)
      drop(i, "link down");
    else
      choice_.used.push_back(i), is_asked_ = is_asked_ || is_asked;
  }

  // `reason` is empty for a card that stays.
  void keep(const auto& reason) {
    std::vector<std::size_t> kept;
    for (std::size_t place = 0; place < choice_.used.size(); ++place) {
      std::string why = reason(place);
      if (why.empty())
        kept.push_back(choice_.used[place]);
      else
        drop(choice_.used[place], std::move(why));
    }
    choice_.used = std::move(kept);
  }

  const Nic& used(std::size_t place) const { return nics_[choice_.used[place]]; }

  void keep_best_network() {
    auto best = Network::ethernet;
    for (const std::size_t i : choice_.used) best = std::min(best, nics_[i].network);
    keep([&](std::size_t place) {
      const Network network = used(place).network;
      return network == best ? "" : std::string(to_string(network)) + " beside " + std::string(to_string(best));
    });
  }

  void keep_plain_cards() {
    const bool has_plain = std::any_of(choice_.used.begin(), choice_.used.end(),
                                       [&](std::size_t i) { return !nics_[i].is_processing_unit; });
    keep([&](std::size_t place) {
      return std::string(has_plain && used(place).is_processing_unit ? "data processing unit beside cards"
                                                                     : "");
    });
  }

  void keep_fastest() {
    const auto rates = adapter_rates(nics_, choice_.used, comparable_rates(nics_, choice_.used));
    if (rates.empty()) return;
    const std::uint32_t most = *std::max_element(rates.begin(), rates.end());
    keep([&](std::size_t place) {
      return rates[place] == most ? std::string() : gigabits(rates[place]) + " beside " + gigabits(most);
    });
  }

  const std::vector<Nic>& nics_;
  NicRules rules_;
  NicChoice choice_;
  bool is_asked_ = false;  // a list asks for some of those in use
};

}  // namespace

Result<NicList> NicList::parse(std::string_view text) {
  NicList list;
  std::string_view rest = text;
  const auto take = [&](char mark) {
    const bool there = rest.starts_with(mark);
    if (there) rest.remove_prefix(1);
    return there;
  };
  list.excludes_ = take('^');
  list.exact_ = take('=');
  for (const std::string_view piece : split(rest, ',')) {
    const bool is_address = PciAddress::parse(piece).has_value();  // a card without a name goes by it
    const auto parts = is_address ? std::vector{piece} : split(piece, ':');
    Entry entry{std::string(parts[0]), std::nullopt};
    bool good = !entry.name.empty() && parts.size() <= 4;
    for (std::size_t i = 1; i < parts.size(); ++i) good = good && parse_number<std::uint32_t>(parts[i]);
    if (!good)
      return fail(ErrorKind::invalid, "'" + std::string(text) + "' is no list of network cards",
                  "such as mlx5_0,mlx5_1:1 or ^=mlx5_2, as NCCL_IB_HCA has it");
    if (parts.size() > 1) entry.port = parse_number<std::uint32_t>(parts[1]);
    list.entries_.push_back(std::move(entry));
  }
  return list;
}

bool NicList::names(std::string_view nic) const {
  const auto halves = PciAddress::parse(nic) ? std::nullopt : split_once(nic, ':');
  const std::string_view name = halves ? halves->before : nic;
  const auto port = halves ? parse_number<std::uint32_t>(halves->after) : 1;
  return std::any_of(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return (exact_ ? name == entry.name : name.starts_with(entry.name)) && (!entry.port || *entry.port == port);
  });
}

NicChoice choose_nics(const std::vector<Nic>& nics, const NicRules& rules) {
  return Filter(nics, rules).choose();
}

}  // namespace pinstep
