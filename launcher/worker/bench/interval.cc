#include "launcher/worker/bench/interval.h"

#include <algorithm>
#include <cmath>

namespace pinstep::worker {
namespace {

constexpr double kOutside = 0.025;  // on each side

// The k for which fewer than k of n values lie below their true median with at most this probability: the sum
// of binomial terms C(n, i) / 2ⁿ, in logarithms, as 2ⁿ leaves the range of a double.
std::size_t rank_of_bounds(std::size_t n) {
  const double size = static_cast<double>(n);
  double below = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const double i = static_cast<double>(k);
    below +=
        std::exp(std::lgamma(size + 1) - std::lgamma(i + 1) - std::lgamma(size - i + 1) - size * std::log(2));
    if (below > kOutside) return k;
  }
  return 0;
}

}  // namespace

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

std::optional<Interval> median_interval(std::vector<double> values) {
  const std::size_t k = rank_of_bounds(values.size());
  if (k == 0) return std::nullopt;
  std::sort(values.begin(), values.end());
  return Interval{median(values), values[k - 1], values[values.size() - k]};
}

}  // namespace pinstep::worker
