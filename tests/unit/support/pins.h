// Pins in the messages of failing tests.
#pragma once

#include <ostream>

#include "envtools/pin/pin.h"

namespace pinstep {

inline void PrintTo(const Pin& pin, std::ostream* out) { *out << pin.text(); }
inline void PrintTo(Shape shape, std::ostream* out) { *out << to_string(shape); }
inline void PrintTo(const PinnedPrefix& entry, std::ostream* out) {
  *out << entry.platform << ' ' << entry.id << ' ' << entry.prefix;
}

}  // namespace pinstep
