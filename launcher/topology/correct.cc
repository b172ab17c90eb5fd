#include "launcher/topology/correct.h"

#include <algorithm>

namespace pinstep {
namespace {

// The machine's memory nodes and packages that have processors of a memory node of the file; where the file
// names no processors it can only mean the same number.
struct Surroundings {
  Bits nodes;
  Bits packages;
};

Surroundings surroundings(const Bits& told_nodes, const Machine& told, const Machine& machine) {
  Bits pus;
  for (const Core& core : told.cores)
    if (told_nodes.has(core.node)) pus.add(core.pus);
  Surroundings found;
  for (const Core& core : machine.cores)
    if (pus.empty() ? told_nodes.has(core.node) : core.pus.meets(pus)) {
      found.nodes.add(core.node);
      found.packages.add(core.package);
    }
  return found;
}

class Correction {
 public:
  Correction(const NcclTopology& told, const Machine& machine) : told_(told), machine_(machine) {
    const auto count = [&](const Locality& at) {
      for (const std::uint32_t bridge : at.bridges) bridges_ = std::max(bridges_, bridge + 1);
    };
    for (const Gpu& gpu : machine.gpus) count(gpu.at);
    for (const Nic& nic : machine.nics) count(nic.at);
    tells_more_ = tells_more();
  }

  const Locality* told_place(const PciAddress& address) const {
    const auto found = told_.places.find(address);
    return found == told_.places.end() ? nullptr : &found->second;
  }

  Surroundings beside(const Locality& place) const {
    return surroundings(place.nodes, told_.machine, machine_);
  }

  // The file's place among the machine's own: numbers that do not meet those of devices it does not name.
  Locality among_own(Locality place) const {
    for (std::uint32_t& bridge : place.bridges) bridge += bridges_;
    const Surroundings own = beside(place);
    if (own.nodes.empty() || tells_more_) {
      place.nodes = shifted(place.nodes);
      place.packages = shifted(place.packages);
    } else {
      place.nodes = own.nodes;
      place.packages = own.packages;
    }
    return place;
  }

 private:
  static Bits shifted(const Bits& numbers) {
    Bits far;
    for (const std::uint32_t number : numbers.numbers())
      far.add(number % (Bits::kLimit / 2) + Bits::kLimit / 2);
    return far;
  }

  // Whether two memory nodes of the file are one of the machine's: a hypervisor that hides the bus often hides
  // these too, and the distance between devices must not be lost.
  bool tells_more() const {
    std::vector<std::pair<Bits, Bits>> seen;
    for (const auto& [address, place] : told_.places) {
      const Bits own = beside(place).nodes;
      for (const auto& [nodes, theirs] : seen)
        if (nodes != place.nodes && theirs.meets(own)) return true;
      const Bits& told_nodes = place.nodes;  // clang 14 captures no structured binding
      if (std::none_of(seen.begin(), seen.end(), [&](const auto& one) { return one.first == told_nodes; }))
        seen.emplace_back(place.nodes, own);
    }
    return false;
  }

  const NcclTopology& told_;
  const Machine& machine_;
  std::uint32_t bridges_ = 0;
  bool tells_more_ = false;
};

}  // namespace

void correct_places(const NcclTopology& told, const std::string& name, Machine& machine) {
  const Machine before = machine;
  const Correction correction(told, before);
  std::size_t corrected = 0;
  for (Gpu& gpu : machine.gpus) {
    const Locality* place = correction.told_place(gpu.address);
    if (place == nullptr) continue;
    ++corrected;
    const Bits nodes = correction.beside(*place).nodes;
    gpu.linked = nodes.empty() ? gpu.home() : nodes;
    gpu.at = correction.among_own(*place);
  }
  for (Nic& nic : machine.nics)
    if (const Locality* place = correction.told_place(nic.address)) {
      ++corrected;
      nic.at = correction.among_own(*place);
    }
  if (corrected == 0) machine.doubts.push_back("'" + name + "' names no GPU and no card of this node");
}

}  // namespace pinstep
