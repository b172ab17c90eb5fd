// What PCI's numbers say about a device. Source: the PCI ID Repository (pci.ids) and the drivers' own tables.
#pragma once

#include <cstdint>

#include "launcher/machine/machine.h"

namespace pinstep {

inline constexpr std::uint16_t kNvidia = 0x10de;
inline constexpr std::uint16_t kAmd = 0x1002;

struct PciIds {
  std::uint16_t type = 0;  // class and subclass: 0x0302
  std::uint16_t vendor = 0;
  std::uint16_t device = 0;

  bool is_display() const { return type >> 8 == 0x03; }
  bool is_processor() const { return type >> 8 == 0x12; }
  bool is_network() const { return type >> 8 == 0x02; }

  // Of a network card.
  Network network(bool has_verbs) const;
  // Some virtual functions have ids of their own; a file tells nothing else of them.
  bool is_virtual_function() const;
  bool is_processing_unit() const;
};

}  // namespace pinstep
