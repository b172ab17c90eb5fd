#include "launcher/worker/data/steps.h"

#include <algorithm>

namespace pinstep::worker {

EpochSteps::EpochSteps(std::vector<Order> shards, std::uint32_t batch, std::uint32_t accumulate)
    : shards_(std::move(shards)) {
  const std::size_t samples = shards_.empty() ? 0 : shards_.front().size();
  const std::size_t most = std::size_t{batch} * accumulate;
  for (std::size_t first = 0; first < samples; first += most)
    add_step(first, std::min(most, samples - first), batch);
}

void EpochSteps::add_step(std::size_t first, std::size_t rows, std::uint32_t batch) {
  for (std::size_t shard = 0; shard < shards_.size(); ++shard)
    for (std::size_t at = 0; at < rows; at += batch) {
      const std::size_t length = std::min<std::size_t>(batch, rows - at);
      const bool ends_shard = at + length == rows;
      portions_.push_back({std::span(shards_[shard]).subspan(first + at, length),
                           static_cast<std::uint32_t>(shard), at == 0, ends_shard,
                           ends_shard && shard + 1 == shards_.size()});
    }
  rows_.push_back(rows);
}

}  // namespace pinstep::worker
