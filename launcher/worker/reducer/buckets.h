// Gradients are added up over the ranks in buckets: while the first ones are under way the backward pass
// makes the next.
#pragma once

#include <cstddef>
#include <vector>

namespace pinstep::worker {

struct BucketSizes {
  // PyTorch's: large enough to use the network well; the first one small, to start early.
  std::size_t first = std::size_t{1} << 20;
  std::size_t other = std::size_t{25} << 20;
};

struct Bucket {
  std::size_t offset = 0;  // elements in the flat gradient
  std::size_t count = 0;
  std::size_t first_parameter = 0;
  std::size_t parameters = 0;

  bool operator==(const Bucket&) const = default;
};

// `elements` of each parameter (f32) in the order in which their gradients become ready, which is the order
// they have in memory. A bucket takes parameters until it has reached its size.
std::vector<Bucket> plan_buckets(const std::vector<std::size_t>& elements, BucketSizes sizes);

}  // namespace pinstep::worker
