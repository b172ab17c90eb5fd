#include "launcher/worker/reducer/buckets.h"

namespace pinstep::worker {

std::vector<Bucket> plan_buckets(const std::vector<std::size_t>& elements, BucketSizes sizes) {
  std::vector<Bucket> buckets;
  bool is_open = false;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (!is_open) {
      const std::size_t offset = buckets.empty() ? 0 : buckets.back().offset + buckets.back().count;
      buckets.push_back({offset, 0, i, 0});
    }
    Bucket& bucket = buckets.back();
    bucket.count += elements[i];
    ++bucket.parameters;
    is_open = bucket.count * sizeof(float) < (buckets.size() == 1 ? sizes.first : sizes.other);
  }
  return buckets;
}

}  // namespace pinstep::worker
