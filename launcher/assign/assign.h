// Which network card each GPU uses and which cores each rank runs on: for all of a node at once, by one
// stated objective, exactly. DESIGN.md has the objective and why the methods here reach its optimum.
//
// Pure: the same input gives the same answer in every rank.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "launcher/machine/machine.h"

namespace pinstep {

// ---- network cards

// levels[g][n]: between GPU g and card n, both in bus order. Each row has one entry per card.
using Levels = std::vector<std::vector<Level>>;

// What part of its card's bandwidth a GPU gets that far away, in twentieths.
inline constexpr int kWeightUnit = 20;
inline constexpr std::array<int, kLevels> kWeight{20, 20, 15, 14, 12, 9};

struct NicAssignment {
  std::vector<std::size_t> nic;  // of each GPU; empty where there are no cards
  std::int64_t bandwidth = 0;    // B, in units of 1/unit
  std::int64_t unit = 1;
  std::uint32_t level_cost = 0;     // sum of the levels, PIX being 0
  std::uint32_t rail_mismatch = 0;  // GPUs whose card is not the one of their place in the order
  bool is_proven = true;            // false: the search ended at its limit, with the best it had seen
};

// Lexicographically best in (most bandwidth, least level_cost, least rail_mismatch, cards in bus order).
// At most 32 GPUs and 64 cards; `limit` bounds the search in steps of some nanoseconds.
NicAssignment assign_nics(const Levels& levels, std::size_t limit = 100'000'000);

// The value of any choice of a card for each GPU.
NicAssignment value_nics(const Levels& levels, std::vector<std::size_t> nic);

// The card of GPU `gpu` where nothing else decides, so that a rank uses the same rail on every node.
inline std::size_t nominal_rail(std::size_t gpu, std::size_t gpus, std::size_t cards) {
  return gpu * cards / gpus;
}

// ---- cores

struct CoreGroup {
  std::uint32_t node = 0;
  std::uint32_t package = 0;
  std::size_t cores = 0;
};

struct CoreShares {
  std::vector<std::vector<std::size_t>> shares;  // [rank][group]: how many cores
  std::size_t off = 0;                           // ranks that are off the memory nodes of their GPUs
  std::size_t dealt = 0;
  std::size_t spread = 0;  // most cores of a rank less fewest
};

// Deals whole cores, at least one to each rank: fewest ranks off their home, then most cores dealt, then
// least spread. homes[r]: memory nodes of the rank's GPUs; empty: anywhere is home. Groups are in the
// machine's order. At least `kept` cores stay free. Nothing where that leaves fewer cores than ranks.
std::optional<CoreShares> share_cores(const std::vector<CoreGroup>& groups, const std::vector<Bits>& homes,
                                      std::size_t kept = 0);

}  // namespace pinstep
