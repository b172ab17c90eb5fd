#include "launcher/worker/data/sampler.h"

#include <algorithm>

#include "launcher/worker/data/random.h"

namespace pinstep::worker {

std::uint32_t Sampler::per_rank(std::uint64_t consumed) const {
  const auto left = static_cast<std::uint32_t>(samples - std::min<std::uint64_t>(samples, consumed));
  return left / ranks + (left % ranks == 0 || tail == Tail::drop ? 0 : 1);
}

std::vector<std::uint32_t> Sampler::indices(std::uint64_t epoch, std::uint32_t rank,
                                            std::uint64_t consumed) const {
  return deal(permutation(samples, seed, epoch), ranks, rank, per_rank(consumed), consumed);
}

std::vector<std::uint32_t> deal(const std::vector<std::uint32_t>& order, std::uint32_t ranks,
                                std::uint32_t rank, std::uint32_t per_rank, std::uint64_t first) {
  std::vector<std::uint32_t> mine;
  mine.reserve(per_rank);
  for (std::uint64_t i = 0; i < per_rank; ++i) mine.push_back(order[(first + i * ranks + rank) % order.size()]);
  return mine;
}

std::vector<std::uint32_t> evaluation_indices(std::uint32_t samples, std::uint32_t ranks, std::uint32_t rank) {
  std::vector<std::uint32_t> mine;
  for (std::uint64_t i = rank; i < samples; i += ranks) mine.push_back(static_cast<std::uint32_t>(i));
  return mine;
}

}  // namespace pinstep::worker
