#include "launcher/exports/exports.h"

#include <algorithm>

#include "launcher/allowed/allowed.h"

namespace pinstep {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

constexpr auto kDevices = "CUDA_VISIBLE_DEVICES";
constexpr auto kDeviceOrder = "CUDA_DEVICE_ORDER";
constexpr auto kBusOrder = "PCI_BUS_ID";

std::vector<std::uint32_t> visible_gpus(const NodeMap& map, const MappedRank& rank, Visible visible) {
  if (visible == Visible::own || map.isolated || rank.gpus.empty()) return rank.gpus;
  std::vector<std::uint32_t> all(map.gpus.size());
  for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
  return all;
}

void export_devices(const NodeMap& map, const MappedRank& rank, const Environment& environment, Visible visible,
                    Variables& variables) {
  const bool is_nvidia = !map.gpus.empty() && map.gpus.front().vendor == Vendor::nvidia;
  if (!is_nvidia || (environment.has(kDevices) && !is_slurms_choice(environment))) return;
  const bool has_uuids =
      std::all_of(map.gpus.begin(), map.gpus.end(), [](const MappedGpu& gpu) { return !gpu.uuid.empty(); });
  const auto order = environment.get(kDeviceOrder);
  if (!has_uuids && order && *order != kBusOrder) return;  // then an index says nothing about a place

  std::string list;
  std::uint32_t count = 0;
  for (const std::uint32_t gpu : visible_gpus(map, rank, visible)) {
    if (!list.empty()) list += ',';
    // Of a rank that can open its own GPUs only, CUDA counts those.
    const std::uint32_t index = map.isolated ? count++ : map.gpus[gpu].index;
    list += has_uuids ? map.gpus[gpu].uuid : std::to_string(index);
  }
  variables.emplace_back(kDevices, list);
  if (!has_uuids && !order) variables.emplace_back(kDeviceOrder, kBusOrder);
}

// The same list for all ranks of the node: NCCL merges what they say.
void export_cards(const NodeMap& map, const Environment& environment, Variables& variables) {
  constexpr auto name = "NCCL_IB_HCA";
  if (map.gpus.empty() || map.nics.empty() || environment.has(name)) return;
  std::string list;
  for (const MappedNic& nic : map.nics) {
    if (!nic.has_verbs) return;
    list += (list.empty() ? "=" : ",") + nic.name;
  }
  variables.emplace_back(name, list);
}

}  // namespace

Variables exported_variables(const NodeMap& map, std::uint32_t local_rank, const Environment& environment,
                             Visible visible) {
  Variables variables;
  if (local_rank >= map.ranks.size()) return variables;
  const MappedRank& rank = map.ranks[local_rank];
  export_devices(map, rank, environment, visible, variables);
  export_cards(map, environment, variables);
  if (!rank.pus.empty() && !environment.has("OMP_NUM_THREADS"))
    variables.emplace_back("OMP_NUM_THREADS", std::to_string(rank.cores));
  return variables;
}

}  // namespace pinstep
