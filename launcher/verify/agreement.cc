#include "launcher/verify/agreement.h"

#include <algorithm>
#include <set>

#include "envtools/base/text.h"
#include "envtools/json/json.h"

namespace pinstep::verify {
namespace {

constexpr std::string_view kUnknown = "-";
constexpr std::size_t kMostNamed = 8;  // nodes in a sentence

// ---- lists for people

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (std::size_t i = 0; i < names.size() && i < kMostNamed; ++i)
    text += (i == 0 ? "" : ", ") + printable(names[i]);
  if (names.size() > kMostNamed) text += " and " + std::to_string(names.size() - kMostNamed) + " more";
  return text;
}

// "rank 3", "ranks 0-3,7"
std::string ranks_text(const std::vector<std::uint32_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t first = 0, last; first < ranks.size(); first = last + 1) {
    last = first;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    text += (first == 0 ? "" : ",") + std::to_string(ranks[first]);
    if (last > first) text += "-" + std::to_string(ranks[last]);
  }
  return text;
}

std::string counted(std::size_t number, const std::string& noun) {
  return std::to_string(number) + " " + noun + (number == 1 ? "" : "s");
}

// ---- comparing

using ByNode = std::map<std::string, std::vector<const RankReport*>>;

// The node's values of a fact: one where its ranks agree.
std::set<std::string> values(const std::vector<const RankReport*>& ranks, std::string_view fact) {
  std::set<std::string> found;
  for (const RankReport* report : ranks) {
    const auto at = report->facts.find(fact);
    found.insert(at == report->facts.end() ? std::string(kUnknown) : at->second);
  }
  return found;
}

Comparison compare_fact(const ByNode& nodes, std::string_view fact) {
  Comparison comparison{std::string(fact), {}, {}};
  std::map<std::string, std::vector<std::string>> by_value;
  for (const auto& [node, ranks] : nodes) {
    std::string value;
    const auto of_node = values(ranks, fact);
    for (const std::string& one : of_node) value += (value.empty() ? "" : " | ") + one;
    if (of_node.size() > 1) comparison.mixed.push_back(node);
    by_value[value].push_back(node);
  }
  for (auto& [value, of_value] : by_value) comparison.groups.push_back({value, std::move(of_value)});
  std::stable_sort(comparison.groups.begin(), comparison.groups.end(),
                   [](const Group& a, const Group& b) { return a.nodes.size() > b.nodes.size(); });
  return comparison;
}

// What nodes with different numbers of ranks may differ in.
bool depends_on_ranks(std::string_view fact) { return fact == "gpus" || fact == "map"; }

std::vector<Comparison> compare_by_ranks(const ByNode& nodes, std::string_view fact) {
  std::map<std::uint32_t, ByNode> by_size;
  for (const auto& [node, ranks] : nodes) by_size[ranks.front()->local_size].emplace(node, ranks);
  std::vector<Comparison> comparisons;
  for (const auto& [size, alike] : by_size) {
    comparisons.push_back(compare_fact(alike, fact));
    if (by_size.size() > 1) comparisons.back().fact += " of " + counted(size, "rank");
  }
  return comparisons;
}

std::vector<SharedGpu> shared_gpus(const std::vector<const RankReport*>& reports) {
  std::map<std::string, std::vector<const RankReport*>> users;
  for (const RankReport* report : reports)
    for (const std::string& uuid : report->gpus) users[uuid].push_back(report);
  std::vector<SharedGpu> shared;
  for (const auto& [uuid, of_uuid] : users) {
    if (of_uuid.size() < 2) continue;
    SharedGpu gpu{uuid, {}, {}};
    std::set<std::string> nodes;
    for (const RankReport* report : of_uuid) {
      gpu.ranks.push_back(report->rank);
      nodes.insert(report->node);
    }
    gpu.nodes.assign(nodes.begin(), nodes.end());
    shared.push_back(std::move(gpu));
  }
  return shared;
}

// ---- sentences

std::string difference(const Comparison& comparison) {
  std::string text = comparison.fact + " differs: ";
  for (std::size_t i = 0; i < comparison.groups.size(); ++i) {
    const Group& group = comparison.groups[i];
    text += (i == 0 ? "" : "; ") + printable(group.value) + " on " + listed(group.nodes);
  }
  return text;
}

void add_differences(const Comparison& comparison, std::vector<std::string>& sentences) {
  for (const std::string& node : comparison.mixed) {
    const auto group =
        std::find_if(comparison.groups.begin(), comparison.groups.end(), [&](const Group& candidate) {
          return std::find(candidate.nodes.begin(), candidate.nodes.end(), node) != candidate.nodes.end();
        });
    sentences.push_back(printable(node) + ": its ranks differ in " + comparison.fact + ": " +
                        printable(group->value));
  }
  if (comparison.groups.size() < 2) return;
  if (!comparison.has_rule()) {
    sentences.push_back(difference(comparison));
    return;
  }
  const Group& rule = comparison.groups.front();
  for (std::size_t i = 1; i < comparison.groups.size(); ++i) {
    const Group& odd = comparison.groups[i];
    sentences.push_back(listed(odd.nodes) + ": " + comparison.fact + " is " + printable(odd.value) + ", and " +
                        printable(rule.value) + " on the other " + counted(rule.nodes.size(), "node"));
  }
}

}  // namespace

// ---- the report as it travels

std::string RankReport::text() const {
  std::string text = "rank " + std::to_string(rank) + "\nranks " + std::to_string(local_size) + "\nnode " +
                     percent_encode(node, "") + "\n";
  for (const auto& [name, value] : facts)
    text += "fact " + percent_encode(name, "") + " " + percent_encode(value, "") + "\n";
  for (const std::string& uuid : gpus) text += "gpu " + percent_encode(uuid, "") + "\n";
  return text;
}

Result<RankReport> RankReport::parse(std::string_view text) {
  RankReport report;
  const auto broken = [] { return fail(ErrorKind::corrupt, "a rank's report cannot be understood"); };
  bool has_rank = false;
  if (text.ends_with('\n')) text.remove_suffix(1);
  for (const std::string_view line : split(text, '\n')) {
    const auto words = split(line, ' ');
    const auto value = words.size() > 1 ? percent_decode(words.back()) : std::nullopt;
    const auto number = parse_number<std::uint32_t>(words.back());
    if (!value) return broken();
    if (words[0] == "rank" && words.size() == 2 && number) {
      report.rank = *number;
      has_rank = true;
    } else if (words[0] == "ranks" && words.size() == 2 && number) {
      report.local_size = *number;
    } else if (words[0] == "node" && words.size() == 2) {
      report.node = *value;
    } else if (words[0] == "gpu" && words.size() == 2) {
      report.gpus.push_back(*value);
    } else if (const auto name = words.size() == 3 ? percent_decode(words[1]) : std::nullopt;
               words[0] == "fact" && name) {
      report.facts[*name] = *value;
    } else {
      return broken();
    }
  }
  if (!has_rank) return broken();
  return report;
}

// ---- findings

bool Comparison::has_rule() const {
  std::size_t nodes = 0;
  for (const Group& group : groups) nodes += group.nodes.size();
  return !groups.empty() && 2 * groups.front().nodes.size() > nodes;
}

bool Findings::all_well() const {
  return shared.empty() && missing.empty() && silent.empty() &&
         std::all_of(comparisons.begin(), comparisons.end(),
                     [](const Comparison& comparison) { return comparison.is_same(); });
}

Findings compare(const std::vector<RankReport>& reports, std::uint32_t ranks,
                 const std::vector<std::string>& step_nodes) {
  Findings findings;
  findings.ranks = ranks;
  std::vector<const RankReport*> in_order;
  for (const RankReport& report : reports) in_order.push_back(&report);
  std::sort(in_order.begin(), in_order.end(), [](auto* a, auto* b) { return a->rank < b->rank; });
  ByNode nodes;
  for (const RankReport* report : in_order) nodes[report->node].push_back(report);
  for (const auto& [node, of_node] : nodes) findings.nodes.push_back(node);

  for (const std::string_view fact : kFacts) {
    if (depends_on_ranks(fact))
      for (Comparison& comparison : compare_by_ranks(nodes, fact))
        findings.comparisons.push_back(std::move(comparison));
    else if (!nodes.empty())
      findings.comparisons.push_back(compare_fact(nodes, fact));
  }
  findings.shared = shared_gpus(in_order);
  for (std::uint32_t rank = 0, i = 0; rank < ranks; ++rank) {
    if (i < in_order.size() && in_order[i]->rank == rank)
      ++i;
    else
      findings.missing.push_back(rank);
  }
  for (const std::string& node : step_nodes)
    if (!nodes.contains(node)) findings.silent.push_back(node);
  return findings;
}

std::vector<std::string> problems(const Findings& findings) {
  std::vector<std::string> sentences;
  if (!findings.missing.empty()) {
    std::string sentence = "no report from " + ranks_text(findings.missing);
    if (!findings.silent.empty()) sentence += "; none at all from " + listed(findings.silent);
    sentences.push_back(std::move(sentence));
  }
  for (const Comparison& comparison : findings.comparisons) add_differences(comparison, sentences);
  for (const SharedGpu& gpu : findings.shared)
    sentences.push_back(ranks_text(gpu.ranks) + " on " + listed(gpu.nodes) + " have the same GPU " +
                        printable(gpu.uuid));
  return sentences;
}

std::string show(const Findings& findings) {
  std::string text = counted(findings.ranks, "rank") + " on " +
                     counted(findings.nodes.size() + findings.silent.size(), "node");
  text += "\n";
  std::size_t width = 0;
  for (const Comparison& comparison : findings.comparisons) width = std::max(width, comparison.fact.size());
  for (const Comparison& comparison : findings.comparisons) {
    std::string line = "  " + comparison.fact;
    line.append(width + 4 - line.size(), ' ');
    for (std::size_t i = 0; i < comparison.groups.size(); ++i) {
      const Group& group = comparison.groups[i];
      line += (i == 0 ? "" : ", ") + printable(group.value);
      if (comparison.groups.size() > 1) line += " (" + listed(group.nodes) + ")";
    }
    text += line + "\n";
  }
  const auto found = problems(findings);
  for (const std::string& problem : found) text += "problem: " + problem + "\n";
  return text + (found.empty() ? "all agree\n" : "");
}

std::string json(const Findings& findings) {
  Json object{{"ok", findings.all_well()},       {"ranks", findings.ranks},
              {"nodes", findings.nodes},         {"facts", Json::array()},
              {"shared_gpus", Json::array()},    {"missing_ranks", findings.missing},
              {"silent_nodes", findings.silent}, {"problems", problems(findings)}};
  for (const Comparison& comparison : findings.comparisons) {
    Json fact{{"fact", comparison.fact}, {"values", Json::array()}, {"mixed_nodes", comparison.mixed}};
    for (const Group& group : comparison.groups)
      fact["values"].push_back({{"value", group.value}, {"nodes", group.nodes}});
    object["facts"].push_back(std::move(fact));
  }
  for (const SharedGpu& gpu : findings.shared)
    object["shared_gpus"].push_back({{"uuid", gpu.uuid}, {"ranks", gpu.ranks}, {"nodes", gpu.nodes}});
  return dump_json(object) + "\n";
}

}  // namespace pinstep::verify
