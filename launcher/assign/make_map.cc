#include "launcher/assign/make_map.h"

#include <algorithm>

#include "launcher/assign/rules.h"

namespace pinstep {
namespace {

constexpr std::size_t kMostGpus = 32;
constexpr std::size_t kMostCards = 64;

// Places in the step's list of GPUs for each rank.
Result<std::vector<std::vector<std::uint32_t>>> deal_gpus(const MapRequest& request,
                                                          const std::vector<std::size_t>& gpus) {
  std::vector<std::vector<std::uint32_t>> dealt(request.ranks);
  const auto place = [&](std::size_t gpu) {
    return static_cast<std::uint32_t>(std::find(gpus.begin(), gpus.end(), gpu) - gpus.begin());
  };
  if (request.gpus_of_rank) {
    for (std::size_t rank = 0; rank < dealt.size(); ++rank)
      for (const std::size_t gpu : (*request.gpus_of_rank)[rank]) dealt[rank].push_back(place(gpu));
    return dealt;
  }
  if (gpus.empty()) return dealt;
  const std::size_t each =
      request.gpus_per_rank.value_or(request.ranks == 1 ? static_cast<std::uint32_t>(gpus.size()) : 1);
  if (each > 1 && each * request.ranks > gpus.size())
    return fail(ErrorKind::invalid, std::to_string(request.ranks) + " ranks with " + std::to_string(each) +
                                        " GPUs each need more than the " + std::to_string(gpus.size()) +
                                        " there are");
  for (std::size_t rank = 0; rank < dealt.size(); ++rank)
    for (std::size_t i = 0; i < each; ++i)
      dealt[rank].push_back(static_cast<std::uint32_t>((rank * each + i) % gpus.size()));
  return dealt;
}

std::vector<std::size_t> step_gpus(const Machine& machine, const MapRequest& request) {
  std::vector<std::size_t> gpus;
  if (request.gpus_of_rank) {
    for (const auto& of_rank : *request.gpus_of_rank) gpus.insert(gpus.end(), of_rank.begin(), of_rank.end());
  } else if (request.gpus) {
    gpus = *request.gpus;
  } else {
    for (std::size_t i = 0; i < machine.gpus.size(); ++i) gpus.push_back(i);
  }
  std::sort(gpus.begin(), gpus.end());
  gpus.erase(std::unique(gpus.begin(), gpus.end()), gpus.end());
  return gpus;
}

CardScore card_score(const Levels& levels, const NicAssignment& assigned) {
  CardScore score{assigned.bandwidth, assigned.unit, assigned.level_cost, {}, 0};
  for (std::size_t gpu = 0; gpu < levels.size(); ++gpu)
    ++score.gpus_at[static_cast<std::size_t>(levels[gpu][assigned.nic[gpu]])];
  std::vector<std::size_t> cards = assigned.nic;
  std::sort(cards.begin(), cards.end());
  score.cards = static_cast<std::uint32_t>(std::unique(cards.begin(), cards.end()) - cards.begin());
  return score;
}

// Cards for the GPUs that ranks use; a GPU that none uses gets none.
Result<void> map_cards(const Machine& machine, const std::vector<std::size_t>& gpus, const MapRequest& request,
                       NodeMap& map) {
  NicChoice choice = choose_nics(machine.nics, request.nic_rules);
  map.dropped = std::move(choice.dropped);
  for (const std::size_t n : choice.used)
    map.nics.push_back({machine.nics[n].name, machine.nics[n].network, machine.nics[n].has_verbs});
  std::vector<std::uint32_t> used;
  for (const MappedRank& rank : map.ranks) used.insert(used.end(), rank.gpus.begin(), rank.gpus.end());
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  if (used.size() > kMostGpus || choice.used.size() > kMostCards)
    return fail(ErrorKind::invalid, "a map has at most 32 GPUs and 64 network cards");
  if (used.empty() || choice.used.empty()) return {};

  Levels levels(used.size());
  for (std::size_t i = 0; i < used.size(); ++i)
    for (const std::size_t n : choice.used)
      levels[i].push_back(level(machine.gpus[gpus[used[i]]].at, machine.nics[n].at));
  const NicAssignment assigned = assign_nics(levels);
  for (std::size_t i = 0; i < used.size(); ++i) {
    map.gpus[used[i]].nic = map.nics[assigned.nic[i]].name;
    map.gpus[used[i]].level = levels[i][assigned.nic[i]];
  }
  map.bandwidth = assigned.bandwidth;
  map.bandwidth_unit = assigned.unit;
  map.level_cost = assigned.level_cost;
  map.rail_mismatch = assigned.rail_mismatch;
  map.is_proven = assigned.is_proven;
  if (!request.scores) return {};
  std::vector<std::uint32_t> devices;
  for (const std::uint32_t gpu : used) devices.push_back(map.gpus[gpu].index);
  map.scores.push_back({"pinstep", card_score(levels, assigned), {}});
  for (const CardRule& rule : card_rules())
    map.scores.push_back(
        {std::string(rule.name), card_score(levels, value_nics(levels, rule.choose(levels, devices))), {}});
  return {};
}

// Consecutive cores of one memory node, as far as the step may use them.
struct Group {
  CoreGroup shape;
  std::vector<const Core*> cores;
};

std::vector<Group> allowed_groups(const Machine& machine) {
  std::vector<Group> groups;
  for (const Core& core : machine.cores) {
    if (!core.pus.meets(machine.allowed)) continue;
    if (groups.empty() || groups.back().shape.node != core.node || groups.back().shape.package != core.package)
      groups.push_back({{core.node, core.package, 0}, {}});
    ++groups.back().shape.cores;
    groups.back().cores.push_back(&core);
  }
  return groups;
}

std::vector<Bits> homes_of(const NodeMap& map) {
  std::vector<Bits> homes;
  for (const MappedRank& rank : map.ranks) {
    Bits home;
    for (const std::uint32_t gpu : rank.gpus) home.add(map.gpus[gpu].nodes);
    homes.push_back(std::move(home));
  }
  return homes;
}

void score_cores(const std::vector<CoreGroup>& shapes, const std::vector<Bits>& homes, NodeMap& map) {
  if (map.scores.empty()) map.scores.push_back({"pinstep", {}, {}});
  map.scores.front().off = map.off;
  map.scores.push_back({"linear-cores", {}, static_cast<std::uint32_t>(linear_cores_off(shapes, homes))});
}

void map_cores(const Machine& machine, const MapRequest& request, NodeMap& map) {
  const std::vector<Group> groups = allowed_groups(machine);
  std::vector<CoreGroup> shapes;
  for (const Group& group : groups) shapes.push_back(group.shape);
  const std::vector<Bits> homes = homes_of(map);
  const auto shares = share_cores(shapes, homes, request.system_cores);
  if (!shares) {
    map.notes.push_back(request.system_cores == 0
                            ? "not bound: fewer cores than ranks"
                            : "not bound: fewer cores than ranks and the system are to have");
    return;
  }
  // The system's are the first ones, where interrupts go.
  std::vector<std::size_t> taken(groups.size(), 0);
  if (request.system_cores > 0)
    for (std::size_t g = 0; g < groups.size(); ++g) {
      taken[g] = groups[g].cores.size();
      for (const auto& of_rank : shares->shares) taken[g] -= of_rank[g];
    }
  for (std::size_t r = 0; r < map.ranks.size(); ++r) {
    MappedRank& rank = map.ranks[r];
    Bits nodes;
    for (std::size_t g = 0; g < groups.size(); ++g)
      for (std::size_t n = shares->shares[r][g]; n > 0; --n) {
        Bits pus = groups[g].cores[taken[g]++]->pus;
        pus.keep(machine.allowed);
        rank.pus.add(pus);
        nodes.add(groups[g].shape.node);
        ++rank.cores;
      }
    rank.memory_node = nodes.only();
  }
  map.off = static_cast<std::uint32_t>(shares->off);
  map.cores = static_cast<std::uint32_t>(shares->dealt);
  map.spread = static_cast<std::uint32_t>(shares->spread);
  if (request.scores) score_cores(shapes, homes, map);
}

}  // namespace

Result<NodeMap> make_map(const Machine& machine, const MapRequest& request) {
  const std::vector<std::size_t> gpus = step_gpus(machine, request);
  const auto index = [&](std::size_t gpu) {
    if (!request.openable) return static_cast<std::uint32_t>(gpu);
    const auto& all = *request.openable;
    return static_cast<std::uint32_t>(std::count_if(all.begin(), all.end(), [&](auto g) { return g < gpu; }));
  };
  NodeMap map;
  map.notes = machine.doubts;
  map.notes.insert(map.notes.end(), machine.notes.begin(), machine.notes.end());
  map.node_cores = static_cast<std::uint32_t>(machine.cores.size());
  map.node_gpus = static_cast<std::uint32_t>(machine.gpus.size());
  for (const Core& core : machine.cores)
    map.threads_per_core = std::max(map.threads_per_core, static_cast<std::uint32_t>(core.pus.count()));
  for (const std::size_t gpu : gpus) {
    const Gpu& found = machine.gpus[gpu];
    const auto number =
        request.device_numbers.empty() ? static_cast<std::uint32_t>(gpu) : request.device_numbers[gpu];
    map.gpus.push_back(
        {found.address, found.vendor, number, index(gpu), found.uuid, found.home(), "", Level::sys});
  }
  auto dealt = deal_gpus(request, gpus);
  if (!dealt) return tl::unexpected(dealt.error());
  for (auto& of_rank : *dealt) map.ranks.push_back({std::move(of_rank), {}, 0, {}});
  map.isolated = request.gpus_of_rank.has_value();
  if (const auto done = map_cards(machine, gpus, request, map); !done) return tl::unexpected(done.error());
  if (request.deals_cores) map_cores(machine, request, map);
  return map;
}

}  // namespace pinstep
