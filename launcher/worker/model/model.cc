#include "launcher/worker/model/model.h"

#include <cmath>

#include "launcher/worker/data/random.h"

namespace pinstep::worker {

std::size_t count(const std::vector<Parameter>& parameters) {
  return parameters.empty() ? 0 : parameters.back().offset + parameters.back().count;
}

std::vector<float> initial_values(const std::vector<Parameter>& parameters, std::uint64_t seed) {
  constexpr std::uint64_t kPart = std::uint64_t{1} << 63;  // beyond all epochs, whose orders have the same seed
  std::vector<float> values(count(parameters));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    const float bound = 1 / std::sqrt(static_cast<float>(parameter.inputs));
    CounterRandom random(seed, kPart + i);
    for (std::size_t j = 0; j < parameter.count; ++j)
      values[parameter.offset + j] = bound * (2 * random.uniform() - 1);
  }
  return values;
}

}  // namespace pinstep::worker
