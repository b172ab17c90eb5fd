// Which samples a rank trains on, by the rules of PyTorch's DistributedSampler: the data in an order that
// seed and epoch decide, filled up from its beginning to a multiple of the ranks, and dealt like cards.
//
// So batch i of N ranks with B samples each is, as a set, batch i of one rank with N·B samples.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep::worker {

enum class Tail { repeat, drop };  // the samples beyond the last multiple of the ranks

using Order = std::vector<std::uint32_t>;

struct Sampler {
  std::uint32_t samples = 0;  // of the data set
  std::uint32_t ranks = 1;
  std::uint64_t seed = 0;
  Tail tail = Tail::repeat;
  // If not empty, the order of epoch e is orders[(e - 1) % their number], whatever the seed.
  std::vector<Order> orders;

  // All samples in the order of this epoch, which counts from 1.
  Order order(std::uint64_t epoch) const;
  // Samples of each rank that are left of an epoch when all ranks together have consumed so many, the same for
  // all; 0 where there is no data.
  std::uint32_t per_rank(std::uint64_t consumed = 0) const;
  // Those of this rank, in order. Two ranks share samples only where the data had to be filled up. What was
  // consumed may have been so by another number of ranks.
  Order indices(std::uint64_t epoch, std::uint32_t rank, std::uint64_t consumed = 0) const;
};

// Deals `order` from place `consumed` on: the part of indices() that has no chance in it.
Order deal(const Order& order, std::uint32_t ranks, std::uint32_t rank, std::uint32_t per_rank,
           std::uint64_t consumed = 0);

// For evaluation: every sample belongs to exactly one rank, so none is counted twice; the numbers of two ranks
// differ by one at most.
Order evaluation_indices(std::uint32_t samples, std::uint32_t ranks, std::uint32_t rank);

// Orders from a text: a line per epoch with the numbers 0 to samples - 1, each once, with spaces between them.
// `subject` stands in the messages. Errors: corrupt.
Result<std::vector<Order>> parse_orders(std::string_view text, std::uint32_t samples,
                                        const std::string& subject);

}  // namespace pinstep::worker
