#include "launcher/worker/units/units.h"

#include <algorithm>
#include <array>
#include <cstdlib>

#include "launcher/worker/words.h"

namespace pinstep::worker {
namespace {

struct Unit {
  double size;
  const char* name;
};

// In the largest of these, largest first, of which it is at least one; else in the smallest.
template <std::size_t N>
std::string in_units(double value, const std::array<Unit, N>& units) {
  const auto unit = std::find_if(units.begin(), units.end(), [&](const Unit& u) { return value >= u.size; });
  const Unit& chosen = unit == units.end() ? units.back() : *unit;
  return three_digits(value / chosen.size) + " " + chosen.name;
}

}  // namespace

std::string three_digits(double value) {
  if (value == 0) return "0";
  const std::string rounded = formatted("%.2e", value);  // d.dde+xx: 99.97 has the exponent of 100
  const int exponent = std::atoi(rounded.c_str() + rounded.find('e') + 1);
  return formatted("%.*f", std::max(0, 2 - exponent), value);
}

std::string shown_rate(double bytes_per_second) {
  return in_units(bytes_per_second,
                  std::array<Unit, 4>{{{1e9, "GB/s"}, {1e6, "MB/s"}, {1e3, "kB/s"}, {1, "B/s"}}});
}

std::string shown_time(double seconds) {
  return in_units(seconds, std::array<Unit, 4>{{{1, "s"}, {1e-3, "ms"}, {1e-6, "us"}, {1e-9, "ns"}}});
}

std::string shown_size(std::uint64_t bytes) {
  constexpr double kKibi = 1024;
  return in_units(static_cast<double>(bytes),
                  std::array<Unit, 4>{
                      {{kKibi * kKibi * kKibi, "GiB"}, {kKibi * kKibi, "MiB"}, {kKibi, "KiB"}, {1, "bytes"}}});
}

}  // namespace pinstep::worker
