// What a run is told. Which of it decides the weights, and may change where a run goes on, is in identity.h.
#pragma once

#include <cstdint>
#include <vector>

#include "launcher/worker/data/sampler.h"
#include "launcher/worker/model/plan.h"
#include "launcher/worker/reducer/buckets.h"
#include "launcher/worker/train/optimizer.h"

namespace pinstep::worker {

struct TrainSettings {
  std::uint32_t epochs = 3;
  std::uint32_t batch = 64;      // of each rank, or of each virtual shard
  std::uint32_t accumulate = 1;  // batches to a step
  std::uint64_t seed = 1;
  ModelSpec model;
  OptimizerSettings optimizer;
  Tail tail = Tail::repeat;
  std::vector<Order> orders;     // instead of the seed's, as in Sampler
  std::uint32_t shards = 0;      // virtual ones; 0: none
  unsigned loaders = 1;          // threads that put batches together; 0: the training thread does
  std::uint64_t most_steps = 0;  // in all; 0: no limit
  BucketSizes buckets;
  bool is_kept = false;          // in checkpoints: the ranks then meet after each step
  std::uint64_t kept_every = 0;  // steps
};

}  // namespace pinstep::worker
