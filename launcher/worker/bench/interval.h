// Medians of paired measurements with an interval that holds the true one with a probability of 95 %, whatever
// the distribution: the order statistics of the sign test.
#pragma once

#include <optional>
#include <vector>

namespace pinstep::worker {

struct Interval {
  double median = 0, low = 0, high = 0;

  bool operator==(const Interval&) const = default;
};

double median(std::vector<double> values);  // of at least one

// Nothing for fewer than six values: no interval of them is that sure.
std::optional<Interval> median_interval(std::vector<double> values);

}  // namespace pinstep::worker
