#include "launcher/machine/machine.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <tuple>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

constexpr std::array<std::string_view, kLevels> kLevelNames{"PIX", "PXB", "PHB", "NODE", "PKG", "SYS"};

std::optional<std::uint32_t> hexadecimal(std::string_view text, std::uint32_t most) {
  std::uint32_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, 16);
  if (error != std::errc{} || rest != end || value > most) return std::nullopt;
  return value;
}

}  // namespace

std::string_view to_string(Level level) { return kLevelNames[static_cast<std::size_t>(level)]; }

Level parse_level(std::string_view name) {
  const auto found = std::find(kLevelNames.begin(), kLevelNames.end(), name);
  return found == kLevelNames.end() ? Level::sys : static_cast<Level>(found - kLevelNames.begin());
}

std::string_view to_string(Vendor vendor) { return vendor == Vendor::nvidia ? "nvidia" : "amd"; }

std::string_view to_string(Network network) {
  switch (network) {
    case Network::fabric:
      return "fabric";
    case Network::roce:
      return "roce";
    case Network::ethernet:
      break;
  }
  return "ethernet";
}

Level level(const Locality& a, const Locality& b) {
  const auto parted = std::mismatch(a.bridges.begin(), a.bridges.end(), b.bridges.begin(), b.bridges.end());
  const auto common = parted.first - a.bridges.begin();
  // A switch is an upstream bridge with a downstream bridge for each port.
  const bool one_switch = a.bridges.end() - parted.first <= 1 && b.bridges.end() - parted.second <= 1;
  if (common >= 2) return one_switch ? Level::pix : Level::pxb;
  if (common == 1) return Level::phb;
  Bits nodes = a.nodes;
  nodes.add(b.nodes);
  if (nodes.count() == 1) return Level::node;
  Bits packages = a.packages;
  packages.add(b.packages);
  return packages.count() == 1 ? Level::pkg : Level::sys;
}

std::optional<PciAddress> PciAddress::parse(std::string_view text) {
  auto pieces = split(text, ':');
  if (pieces.size() == 2) pieces.insert(pieces.begin(), "0");
  const auto slot = pieces.size() == 3 ? split_once(pieces[2], '.') : std::nullopt;
  if (!slot) return std::nullopt;
  const auto domain = hexadecimal(pieces[0], UINT32_MAX);
  const auto bus = hexadecimal(pieces[1], 0xff);
  const auto device = hexadecimal(slot->before, 0x1f);
  const auto function = hexadecimal(slot->after, 7);
  if (!domain || !bus || !device || !function) return std::nullopt;
  return PciAddress{*domain, static_cast<std::uint8_t>(*bus), static_cast<std::uint8_t>(*device),
                    static_cast<std::uint8_t>(*function)};
}

std::string PciAddress::text() const {
  char text[24];
  std::snprintf(text, sizeof text, "%04x:%02x:%02x.%x", domain, bus, device, function);
  return text;
}

void put_in_order(Machine& machine) {
  const auto by_address = [](const auto& a, const auto& b) { return a.address < b.address; };
  std::sort(machine.gpus.begin(), machine.gpus.end(), by_address);
  std::sort(machine.nics.begin(), machine.nics.end(), by_address);
  const auto place = [](const Core& core) {
    const auto pus = core.pus.numbers();
    return std::tuple(core.package, core.node, pus.empty() ? 0 : pus.front());
  };
  std::sort(machine.cores.begin(), machine.cores.end(),
            [&](const Core& a, const Core& b) { return place(a) < place(b); });
}

}  // namespace pinstep
