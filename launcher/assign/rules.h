// What other programs' rules would choose on the same machine, to compare with the map: models of these rules
// from their descriptions, not those programs. All choose among the same cards, those that pass the filter.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "launcher/assign/assign.h"

namespace pinstep {

struct CardRule {
  std::string_view name;
  // The card of each GPU. devices[g]: the number of GPU g on its node, counted in bus order.
  std::vector<std::size_t> (*choose)(const Levels& levels, const std::vector<std::uint32_t>& devices);
};

// round-robin    GPU i has card i modulo their number
// block          GPU i has card floor(i * cards / GPUs)
// nearest        the first of the nearest cards
// nccl           of the nearest cards, counted from the first, the one that the device number says
// nccl-isolated  the same where each rank sees its own GPU only, which then has device number 0
const std::vector<CardRule>& card_rules();

// The linear rule for cores: rank r runs on memory node floor(r / ceil(ranks / nodes)), counting nodes from 0
// whatever their numbers are. Returns how many ranks that puts off the memory nodes of their GPUs; homes as in
// share_cores().
std::size_t linear_cores_off(const std::vector<CoreGroup>& groups, const std::vector<Bits>& homes);

}  // namespace pinstep
