#include "launcher/worker/data/sampler.h"

#include "launcher/worker/data/random.h"

namespace pinstep::worker {

std::uint32_t Sampler::per_rank() const {
  const std::uint32_t whole = samples / ranks;
  return samples % ranks == 0 || tail == Tail::drop ? whole : whole + 1;
}

std::vector<std::uint32_t> Sampler::indices(std::uint64_t epoch, std::uint32_t rank) const {
  return deal(permutation(samples, seed, epoch), ranks, rank, per_rank());
}

std::vector<std::uint32_t> deal(const std::vector<std::uint32_t>& order, std::uint32_t ranks,
                                std::uint32_t rank, std::uint32_t per_rank) {
  std::vector<std::uint32_t> mine;
  mine.reserve(per_rank);
  for (std::uint64_t i = 0; i < per_rank; ++i) mine.push_back(order[(i * ranks + rank) % order.size()]);
  return mine;
}

std::vector<std::uint32_t> evaluation_indices(std::uint32_t samples, std::uint32_t ranks, std::uint32_t rank) {
  std::vector<std::uint32_t> mine;
  for (std::uint64_t i = rank; i < samples; i += ranks) mine.push_back(static_cast<std::uint32_t>(i));
  return mine;
}

}  // namespace pinstep::worker
