#include "launcher/mapfile/node_map.h"

#include <algorithm>
#include <tuple>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

constexpr std::string_view kMagic = "pinstep-map";
constexpr std::uint32_t kVersion = 1;

std::string word(std::string_view text) {
  if (text.empty()) return "-";
  return text == "-" ? "%2d" : percent_encode(text, "");
}

std::string number(std::uint64_t value) { return std::to_string(value); }

std::string list(const std::vector<std::uint32_t>& numbers) {
  std::string text;
  for (const std::uint32_t n : numbers) text += (text.empty() ? "" : ",") + number(n);
  return text.empty() ? "-" : text;
}

std::optional<std::vector<std::uint32_t>> parse_list(std::string_view text) {
  std::vector<std::uint32_t> numbers;
  if (text == "-") return numbers;
  for (const std::string_view piece : split(text, ',')) {
    const auto n = parse_number<std::uint32_t>(piece);
    if (!n) return std::nullopt;
    numbers.push_back(*n);
  }
  return numbers;
}

std::optional<std::string> unword(std::string_view text) {
  return text == "-" ? std::optional<std::string>("") : percent_decode(text);
}

std::optional<Bits> unbits(std::string_view text) { return text == "-" ? Bits() : Bits::parse(text); }

std::string bits(const Bits& set) { return set.empty() ? "-" : set.text(); }

// One line of the file. Its words are taken in turn; `good` tells whether all were there and right.
class Line {
 public:
  explicit Line(std::string_view line) : words_(split(line, ' ')) {}

  std::string_view next() {
    if (at_ < words_.size()) return words_[at_++];
    good_ = false;
    return {};
  }
  template <class T>
  T take(std::optional<T> value) {
    good_ = good_ && value.has_value();
    return value ? std::move(*value) : T();
  }
  template <class T = std::uint32_t>
  T next_number() {
    return take(parse_number<T>(next()));
  }
  bool next_flag() {
    const std::string_view text = next();
    good_ = good_ && (text == "0" || text == "1");
    return text == "1";
  }
  std::string next_text() { return take(unword(next())); }
  bool is_good() const { return good_ && at_ == words_.size(); }
  void spoil() { good_ = false; }

 private:
  std::vector<std::string_view> words_;
  std::size_t at_ = 0;
  bool good_ = true;
};

Vendor parse_vendor(Line& line) {
  const std::string_view name = line.next();
  if (name != "nvidia" && name != "amd") line.spoil();
  return name == "amd" ? Vendor::amd : Vendor::nvidia;
}

Network parse_network(Line& line) {
  const std::string_view name = line.next();
  for (const Network network : {Network::fabric, Network::roce, Network::ethernet})
    if (to_string(network) == name) return network;
  line.spoil();
  return Network::ethernet;
}

std::optional<std::pair<std::int64_t, std::int64_t>> parse_ratio(std::string_view text) {
  const auto parts = split_once(text, '/');
  const auto above = parts ? parse_number<std::int64_t>(parts->before) : std::nullopt;
  const auto below = parts ? parse_number<std::int64_t>(parts->after) : std::nullopt;
  if (!above || !below || *below <= 0) return std::nullopt;
  return std::pair(*above, *below);
}

std::string ratio(std::int64_t above, std::int64_t below) {
  return std::to_string(above) + "/" + std::to_string(below);
}

std::optional<CardScore> parse_card_score(Line& line) {
  const std::string_view first = line.next();
  if (first == "-") return std::nullopt;
  CardScore score;
  std::tie(score.bandwidth, score.bandwidth_unit) = line.take(parse_ratio(first));
  score.level_cost = line.next_number();
  const auto gpus_at = line.take(parse_list(line.next()));
  if (gpus_at.size() == kLevels)
    std::copy(gpus_at.begin(), gpus_at.end(), score.gpus_at.begin());
  else
    line.spoil();
  score.cards = line.next_number();
  return score;
}

std::string write_score(const RuleScore& score) {
  std::string text = word(score.rule) + " ";
  if (const auto& cards = score.cards)
    text += ratio(cards->bandwidth, cards->bandwidth_unit) + " " + number(cards->level_cost) + " " +
            list({cards->gpus_at.begin(), cards->gpus_at.end()}) + " " + number(cards->cards);
  else
    text += "-";
  return text + " " + (score.off ? number(*score.off) : "-");
}

bool read_line(std::string_view text, NodeMap& map) {
  Line line(text);
  const std::string_view kind = line.next();
  if (kind == "bandwidth") {
    std::tie(map.bandwidth, map.bandwidth_unit) = line.take(parse_ratio(line.next()));
  } else if (kind == "levels") {
    map.level_cost = line.next_number();
  } else if (kind == "off") {
    map.off = line.next_number();
  } else if (kind == "cores") {
    map.cores = line.next_number();
    map.spread = line.next_number();
  } else if (kind == "rails") {
    map.rail_mismatch = line.next_number();
  } else if (kind == "proven") {
    map.is_proven = line.next_flag();
  } else if (kind == "isolated") {
    map.isolated = line.next_flag();
  } else if (kind == "node") {
    map.node_cores = line.next_number();
    map.node_gpus = line.next_number();
    map.threads_per_core = line.next_number();
  } else if (kind == "gpu") {
    MappedGpu gpu;
    gpu.address = line.take(PciAddress::parse(line.next()));
    gpu.vendor = parse_vendor(line);
    gpu.number = line.next_number();
    gpu.index = line.next_number();
    gpu.uuid = line.next_text();
    gpu.nodes = line.take(unbits(line.next()));
    gpu.nic = line.next_text();
    gpu.level = parse_level(line.next());
    map.gpus.push_back(std::move(gpu));
  } else if (kind == "nic") {
    MappedNic nic;
    nic.name = line.next_text();
    nic.network = parse_network(line);
    nic.has_verbs = line.next_flag();
    map.nics.push_back(std::move(nic));
  } else if (kind == "dropped") {
    DroppedNic dropped;
    dropped.name = line.next_text();
    dropped.reason = line.next_text();
    map.dropped.push_back(std::move(dropped));
  } else if (kind == "note") {
    map.notes.push_back(line.next_text());
  } else if (kind == "score") {
    RuleScore score;
    score.rule = line.next_text();
    score.cards = parse_card_score(line);
    const std::string_view off = line.next();
    if (off != "-") score.off = line.take(parse_number<std::uint32_t>(off));
    map.scores.push_back(std::move(score));
  } else if (kind == "rank") {
    MappedRank rank;
    if (line.next_number() != map.ranks.size()) line.spoil();
    rank.gpus = line.take(parse_list(line.next()));
    for (const std::uint32_t gpu : rank.gpus)
      if (gpu >= map.gpus.size()) line.spoil();
    rank.pus = line.take(unbits(line.next()));
    rank.cores = line.next_number();
    const std::string_view node = line.next();
    if (node != "-") rank.memory_node = line.take(parse_number<std::uint32_t>(node));
    map.ranks.push_back(std::move(rank));
  } else {
    line.spoil();
  }
  return line.is_good();
}

}  // namespace

std::string write_map(const NodeMap& map) {
  std::string out = std::string(kMagic) + " " + number(kVersion) + "\n";
  const auto line = [&](std::initializer_list<std::string> words) {
    std::string text;
    for (const std::string& piece : words) text += (text.empty() ? "" : " ") + piece;
    out += text + "\n";
  };
  const auto flag = [](bool on) { return std::string(on ? "1" : "0"); };
  line({"bandwidth", ratio(map.bandwidth, map.bandwidth_unit)});
  line({"levels", number(map.level_cost)});
  line({"off", number(map.off)});
  line({"cores", number(map.cores), number(map.spread)});
  line({"rails", number(map.rail_mismatch)});
  line({"proven", flag(map.is_proven)});
  line({"isolated", flag(map.isolated)});
  line({"node", number(map.node_cores), number(map.node_gpus), number(map.threads_per_core)});
  for (const MappedGpu& gpu : map.gpus)
    line({"gpu", gpu.address.text(), std::string(to_string(gpu.vendor)), number(gpu.number), number(gpu.index),
          word(gpu.uuid), bits(gpu.nodes), word(gpu.nic), std::string(to_string(gpu.level))});
  for (const MappedNic& nic : map.nics)
    line({"nic", word(nic.name), std::string(to_string(nic.network)), flag(nic.has_verbs)});
  for (const DroppedNic& dropped : map.dropped) line({"dropped", word(dropped.name), word(dropped.reason)});
  for (const std::string& note : map.notes) line({"note", word(note)});
  for (const RuleScore& score : map.scores) line({"score", write_score(score)});
  for (std::size_t r = 0; r < map.ranks.size(); ++r) {
    const MappedRank& rank = map.ranks[r];
    line({"rank", number(r), list(rank.gpus), bits(rank.pus), number(rank.cores),
          rank.memory_node ? number(*rank.memory_node) : "-"});
  }
  return out + "end\n";
}

Result<NodeMap> parse_map(std::string_view text) {
  const auto wrong = [](std::size_t at) {
    return fail(ErrorKind::corrupt, "line " + std::to_string(at) + " of the map cannot be read");
  };
  if (!text.ends_with("\nend\n")) return fail(ErrorKind::corrupt, "the map is cut short");
  text.remove_suffix(std::string_view("\nend\n").size());
  const auto lines = split(text, '\n');
  const auto head = split_once(lines.front(), ' ');
  const auto version = head && head->before == kMagic ? parse_number<std::uint32_t>(head->after) : std::nullopt;
  if (!version) return wrong(1);
  if (*version != kVersion)
    return fail(ErrorKind::unsupported, "the map is of version " + std::to_string(*version));
  NodeMap map;
  for (std::size_t i = 1; i < lines.size(); ++i)
    if (!read_line(lines[i], map)) return wrong(i + 1);
  return map;
}

}  // namespace pinstep
