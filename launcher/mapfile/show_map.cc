#include "launcher/mapfile/show_map.h"

#include <algorithm>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

std::string number(std::uint64_t value) { return std::to_string(value); }

// 14/5 as "2.80".
std::string decimal(std::int64_t value, std::int64_t unit) {
  const auto hundredths = (static_cast<__int128>(value) * 200 + unit) / (static_cast<__int128>(unit) * 2);
  const auto whole = static_cast<std::uint64_t>(hundredths / 100);
  const auto rest = static_cast<std::uint64_t>(hundredths % 100);
  return number(whole) + (rest < 10 ? ".0" : ".") + number(rest);
}

using Row = std::vector<std::string>;

std::string table(const std::vector<Row>& rows) {
  std::vector<std::size_t> widths;
  for (const Row& row : rows)
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i == widths.size()) widths.push_back(0);
      widths[i] = std::max(widths[i], row[i].size());
    }
  std::string text;
  for (const Row& row : rows) {
    std::string line;
    for (std::size_t i = 0; i < row.size(); ++i) {
      if (i > 0) line += "  ";
      line += row[i];
      if (i + 1 < row.size()) line.append(widths[i] - row[i].size(), ' ');
    }
    text += line + "\n";
  }
  return text;
}

std::vector<Row> rank_rows(const NodeMap& map) {
  std::vector<Row> rows{{"rank", "gpu", "nic", "level", "memory", "cores", "cpus"}};
  for (std::size_t r = 0; r < map.ranks.size(); ++r) {
    const MappedRank& rank = map.ranks[r];
    const std::string memory = rank.memory_node ? number(*rank.memory_node) : "-";
    const std::string cores = rank.pus.empty() ? "-" : number(rank.cores);
    const std::string cpus = rank.pus.empty() ? "not bound" : rank.pus.text();
    if (rank.gpus.empty()) rows.push_back({number(r), "-", "-", "-", memory, cores, cpus});
    for (std::size_t i = 0; i < rank.gpus.size(); ++i) {
      const MappedGpu& gpu = map.gpus[rank.gpus[i]];
      Row row{i == 0 ? number(r) : "", gpu.address.text(), gpu.nic.empty() ? "-" : printable(gpu.nic),
              gpu.nic.empty() ? "-" : std::string(to_string(gpu.level))};
      if (i == 0) row.insert(row.end(), {memory, cores, cpus});
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

// "2 PIX 2 SYS"
std::string show_levels(const CardScore& score) {
  std::string text;
  for (int level = 0; level < kLevels; ++level)
    if (const auto gpus = score.gpus_at[static_cast<std::size_t>(level)]; gpus > 0)
      text +=
          (text.empty() ? "" : " ") + number(gpus) + " " + std::string(to_string(static_cast<Level>(level)));
  return text;
}

std::vector<Row> score_rows(const NodeMap& map) {
  std::vector<Row> rows{{"rule", "bandwidth", "levels", "gpus at", "cards", "off"}};
  for (const RuleScore& score : map.scores) {
    Row row{printable(score.rule), "-", "-", "-", "-", score.off ? number(*score.off) : "-"};
    if (const auto& cards = score.cards) {
      row[1] = decimal(cards->bandwidth, cards->bandwidth_unit);
      row[2] = number(cards->level_cost);
      row[3] = show_levels(*cards);
      row[4] = number(cards->cards) + " of " + number(map.nics.size());
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string json_text(std::string_view text) {
  std::string out = "\"";
  for (const char c : printable(text)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

template <class Items, class Show>
std::string json_list(const Items& items, Show show) {
  std::string out = "[";
  for (const auto& item : items) out += (out.size() > 1 ? ", " : "") + show(item);
  return out + "]";
}

std::string json_flag(bool flag) { return flag ? "true" : "false"; }

std::string json_gpu(const MappedGpu& gpu) {
  return "{\"bus\": " + json_text(gpu.address.text()) + ", \"vendor\": " + json_text(to_string(gpu.vendor)) +
         ", \"device\": " + number(gpu.number) +
         ", \"uuid\": " + (gpu.uuid.empty() ? "null" : json_text(gpu.uuid)) +
         ", \"memory_nodes\": " + json_text(gpu.nodes.text()) +
         ", \"nic\": " + (gpu.nic.empty() ? "null" : json_text(gpu.nic)) +
         ", \"level\": " + (gpu.nic.empty() ? "null" : json_text(to_string(gpu.level))) + "}";
}

std::string json_rank(const MappedRank& rank) {
  return "{\"gpus\": " + json_list(rank.gpus, [](std::uint32_t gpu) { return number(gpu); }) +
         ", \"cpus\": " + (rank.pus.empty() ? "null" : json_text(rank.pus.text())) +
         ", \"cores\": " + number(rank.cores) +
         ", \"memory_node\": " + (rank.memory_node ? number(*rank.memory_node) : "null") + "}";
}

std::string json_score(const RuleScore& score) {
  std::string text = "{\"rule\": " + json_text(score.rule);
  if (const auto& cards = score.cards) {
    text += ", \"bandwidth\": " + decimal(cards->bandwidth, cards->bandwidth_unit) +
            ", \"levels\": " + number(cards->level_cost) + ", \"gpus_at\": {";
    for (int level = 0; level < kLevels; ++level)
      text += (level == 0 ? "" : ", ") + json_text(to_string(static_cast<Level>(level))) + ": " +
              number(cards->gpus_at[static_cast<std::size_t>(level)]);
    text += "}, \"cards\": " + number(cards->cards);
  }
  return text + (score.off ? ", \"off\": " + number(*score.off) : "") + "}";
}

}  // namespace

std::string show_map(const NodeMap& map) {
  std::string text = table(rank_rows(map));
  for (const DroppedNic& dropped : map.dropped)
    text += "not used: " + printable(dropped.name) + " (" + printable(dropped.reason) + ")\n";
  for (const std::string& note : map.notes) text += "note: " + printable(note) + "\n";
  text += show_objective(map) + "\n";
  if (!map.scores.empty()) text += "\n" + table(score_rows(map));
  return text;
}

std::string show_rank(const NodeMap& map, std::uint32_t rank) {
  const MappedRank& mapped = map.ranks[rank];
  std::string text;
  for (const std::uint32_t index : mapped.gpus) {
    const MappedGpu& gpu = map.gpus[index];
    text += (text.empty() ? "GPU " : ", GPU ") + gpu.address.text();
    if (!gpu.nic.empty())
      text += " with " + printable(gpu.nic) + " (" + std::string(to_string(gpu.level)) + ")";
  }
  if (text.empty()) text = "no GPU";
  text += mapped.pus.empty() ? ", not bound" : ", cpus " + mapped.pus.text();
  if (mapped.memory_node) text += ", memory node " + number(*mapped.memory_node);
  return text;
}

std::string show_objective(const NodeMap& map) {
  return "bandwidth " + decimal(map.bandwidth, map.bandwidth_unit) + "  levels " + number(map.level_cost) +
         "  off " + number(map.off) + "  cores " + number(map.cores) + "  spread " + number(map.spread) +
         "  rails " + number(map.rail_mismatch) + (map.is_proven ? "" : "  (not proven to be the best)");
}

std::string map_json(const NodeMap& map, std::string_view node) {
  const auto nic = [](const MappedNic& nic) {
    return "{\"name\": " + json_text(nic.name) + ", \"network\": " + json_text(to_string(nic.network)) + "}";
  };
  const auto dropped = [](const DroppedNic& nic) {
    return "{\"name\": " + json_text(nic.name) + ", \"reason\": " + json_text(nic.reason) + "}";
  };
  return (node.empty() ? "{" : "{\"node\": " + json_text(node) + ", ") +
         "\"ranks\": " + json_list(map.ranks, json_rank) + ", \"gpus\": " + json_list(map.gpus, json_gpu) +
         ", \"nics\": " + json_list(map.nics, nic) + ", \"dropped\": " + json_list(map.dropped, dropped) +
         ", \"notes\": " + json_list(map.notes, json_text) + ", \"isolated\": " + json_flag(map.isolated) +
         ", \"objective\": {\"bandwidth\": " + decimal(map.bandwidth, map.bandwidth_unit) +
         ", \"levels\": " + number(map.level_cost) + ", \"off\": " + number(map.off) +
         ", \"cores\": " + number(map.cores) + ", \"spread\": " + number(map.spread) +
         ", \"rails\": " + number(map.rail_mismatch) + ", \"proven\": " + json_flag(map.is_proven) + "}" +
         (map.scores.empty() ? "" : ", \"scores\": " + json_list(map.scores, json_score)) + "}\n";
}

}  // namespace pinstep
