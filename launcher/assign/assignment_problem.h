// The assignment problem, solved exactly for costs of several ranks of importance.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace pinstep {

// Adds up, and is compared field by field.
struct Cost {
  std::int64_t lost = 0;   // bandwidth a GPU does not get
  std::int64_t minor = 0;  // level cost, then rails
  __int128 order = 0;      // cards as digits: the least is first in bus order

  Cost& operator+=(const Cost& other) {
    lost += other.lost, minor += other.minor, order += other.order;
    return *this;
  }
  Cost& operator-=(const Cost& other) {
    lost -= other.lost, minor -= other.minor, order -= other.order;
    return *this;
  }
  friend Cost operator-(Cost a, const Cost& b) { return a -= b; }
  auto operator<=>(const Cost&) const = default;
};

// For each row a column of its own, such that the sum of costs is the least. At least as many columns as rows.
// No cost is above a 32nd of INT64_MAX / 4 in `lost`. Adds the steps that it took to `work`.
std::vector<std::size_t> solve_assignment(const std::vector<std::vector<Cost>>& cost, std::size_t& work);

}  // namespace pinstep
