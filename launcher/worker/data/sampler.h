// Which samples a rank trains on, by the rules of PyTorch's DistributedSampler: the data in an order that
// seed and epoch decide, filled up from its beginning to a multiple of the ranks, and dealt like cards.
//
// So batch i of N ranks with B samples each is, as a set, batch i of one rank with N·B samples.
#pragma once

#include <cstdint>
#include <vector>

namespace pinstep::worker {

enum class Tail { repeat, drop };  // the samples beyond the last multiple of the ranks

struct Sampler {
  std::uint32_t samples = 0;  // of the data set
  std::uint32_t ranks = 1;
  std::uint64_t seed = 0;
  Tail tail = Tail::repeat;

  // Samples of each rank in an epoch, the same for all; 0 where there is no data. `consumed`: samples at the
  // epoch's beginning that are done already, by however many ranks: what is left is dealt.
  std::uint32_t per_rank(std::uint64_t consumed = 0) const;
  // Of this rank in this epoch, in order. Two ranks share samples only where the data had to be filled up.
  std::vector<std::uint32_t> indices(std::uint64_t epoch, std::uint32_t rank, std::uint64_t consumed = 0) const;
};

// Deals `order` from `first` on: the part of indices() that has no chance in it.
std::vector<std::uint32_t> deal(const std::vector<std::uint32_t>& order, std::uint32_t ranks,
                                std::uint32_t rank, std::uint32_t per_rank, std::uint64_t first = 0);

// For evaluation: every sample belongs to exactly one rank, so none is counted twice; the numbers of two ranks
// differ by one at most.
std::vector<std::uint32_t> evaluation_indices(std::uint32_t samples, std::uint32_t ranks, std::uint32_t rank);

}  // namespace pinstep::worker
