// An epoch cut into steps: which samples a rank works on, in which portions.
//
// A step changes the weights once. It consists of one shard or, with virtual shards, of several, whose
// gradients are kept apart until they are added up in a fixed order; a shard of one portion or, when gradients
// are accumulated, of several, which are what a model holds at a time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "launcher/worker/data/sampler.h"

namespace pinstep::worker {

struct Portion {
  std::span<const std::uint32_t> samples;
  std::uint32_t shard = 0;  // among this rank's
  bool begins_shard = false;
  bool ends_shard = false;
  bool ends_step = false;
};

class EpochSteps {
 public:
  // `shards`: this rank's samples, shard by shard, equally many in each. A step takes `batch` · `accumulate` of
  // each, the last one what is left, so that no sample is left out.
  EpochSteps(std::vector<Order> shards, std::uint32_t batch, std::uint32_t accumulate);
  EpochSteps(const EpochSteps&) = delete;
  EpochSteps& operator=(const EpochSteps&) = delete;

  const std::vector<Portion>& portions() const { return portions_; }
  std::size_t steps() const { return rows_.size(); }
  std::size_t rows(std::size_t step) const { return rows_[step]; }  // of each shard in a step

 private:
  void add_step(std::size_t first, std::size_t rows, std::uint32_t batch);

  const std::vector<Order> shards_;
  std::vector<Portion> portions_;
  std::vector<std::size_t> rows_;
};

}  // namespace pinstep::worker
