#include "launcher/assign/rules.h"

#include <algorithm>
#include <bit>

namespace pinstep {
namespace {

using Cards = std::vector<std::size_t>;
using Devices = std::vector<std::uint32_t>;

Cards round_robin(const Levels& levels, const Devices&) {
  Cards cards;
  for (std::size_t gpu = 0; gpu < levels.size(); ++gpu) cards.push_back(gpu % levels.front().size());
  return cards;
}

Cards block(const Levels& levels, const Devices&) {
  Cards cards;
  for (std::size_t gpu = 0; gpu < levels.size(); ++gpu)
    cards.push_back(nominal_rail(gpu, levels.size(), levels.front().size()));
  return cards;
}

Cards nearest(const Levels& levels, const Devices&) {
  Cards cards;
  for (const auto& row : levels)
    cards.push_back(static_cast<std::size_t>(std::min_element(row.begin(), row.end()) - row.begin()));
  return cards;
}

// The path classes that NCCL tells apart: it has none for the memory node, nor for the package.
Level path_class(Level level) {
  if (level == Level::node) return Level::phb;
  return level == Level::pkg ? Level::sys : level;
}

// The lowest bits of the number, as many as count from 0 to size - 1, in reverse order.
std::size_t mirrored(std::uint32_t number, std::size_t size) {
  std::size_t result = 0;
  for (std::size_t low = 1, high = size / 2; high > 0; low *= 2, high /= 2)
    if ((number & low) != 0) result |= high;
  return result;
}

Cards nccl(const Levels& levels, const Devices& devices) {
  Cards chosen;
  for (std::size_t gpu = 0; gpu < levels.size(); ++gpu) {
    Level least = Level::sys;
    for (const Level level : levels[gpu]) least = std::min(least, path_class(level));
    Cards near;
    for (std::size_t card = 0; card < levels[gpu].size(); ++card)
      if (path_class(levels[gpu][card]) == least) near.push_back(card);
    const std::size_t start =
        std::has_single_bit(near.size()) ? mirrored(devices[gpu], near.size()) : devices[gpu];
    chosen.push_back(near[start % near.size()]);
  }
  return chosen;
}

Cards nccl_isolated(const Levels& levels, const Devices& devices) {
  return nccl(levels, Devices(devices.size(), 0));
}

}  // namespace

const std::vector<CardRule>& card_rules() {
  static const std::vector<CardRule> rules{{"round-robin", round_robin},
                                           {"block", block},
                                           {"nearest", nearest},
                                           {"nccl", nccl},
                                           {"nccl-isolated", nccl_isolated}};
  return rules;
}

std::size_t linear_cores_off(const std::vector<CoreGroup>& groups, const std::vector<Bits>& homes) {
  Bits nodes;
  for (const CoreGroup& group : groups) nodes.add(group.node);
  if (nodes.empty()) return 0;
  const std::size_t on_each = (homes.size() + nodes.count() - 1) / nodes.count();
  std::size_t off = 0;
  for (std::size_t rank = 0; rank < homes.size(); ++rank) {
    const auto node = static_cast<std::uint32_t>(rank / on_each);
    off += !homes[rank].empty() && !(homes[rank].has(node) && nodes.has(node));
  }
  return off;
}

}  // namespace pinstep
