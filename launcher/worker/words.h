// Small things that several directories say or measure in the same way.
#pragma once

#include <chrono>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <string>

namespace pinstep::worker {

// As printf; at most 511 bytes.
template <class... Values>
std::string formatted(const char* format, Values... values) {
  char text[512];
  std::snprintf(text, sizeof text, format, values...);
  return text;
}

// "1 rank", "2 ranks".
inline std::string how_many(std::uint64_t number, const char* of) {
  return std::to_string(number) + " " + of + (number == 1 ? "" : "s");
}

// For printf, which would give some that are no number a sign.
inline double shown(double value) { return std::isnan(value) ? std::abs(value) : value; }

// On a clock that never goes back; for differences.
inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace pinstep::worker
