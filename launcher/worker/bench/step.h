// A training step without its data and its update: forward, backward, and the sum of the gradients over all
// ranks, on a multi-layer perceptron and random images.
#pragma once

#include <memory>
#include <vector>

#include "launcher/worker/bench/interval.h"
#include "launcher/worker/device/memory.h"
#include "launcher/worker/model/model.h"
#include "launcher/worker/reducer/reducer.h"

namespace pinstep::worker {

struct StepSettings {
  std::vector<std::uint32_t> sizes{784, 2048, 2048, 2048,
                                   10};  // about 10 million parameters, 40 MB of gradients
  std::uint32_t batch = 64;
};

struct StepTime {
  double seconds = 0;
  double waited = 0;  // of them, for the other ranks and the network after the backward pass
};

class Step {
 public:
  // References must live longer. Errors: no_space, those of the device.
  static Result<std::unique_ptr<Step>> create(Device& device, Transport& transport,
                                              const StepSettings& settings);
  ~Step();

  // In buckets of these sizes from now on. One so large that it takes all is one all-reduce after the backward
  // pass.
  Result<void> use(BucketSizes sizes);
  Result<StepTime> run();
  // The gradients once more, with nothing else going on; seconds.
  Result<double> reduce_only();

  std::size_t gradient_bytes() { return model_->gradients().bytes(); }
  std::size_t buckets() const { return reducer_->buckets().size(); }

 private:
  Step(Device& device, Transport& transport, const StepSettings& settings)
      : device_(device), transport_(transport), settings_(settings) {}
  Result<void> begin();

  Device& device_;
  Transport& transport_;
  const StepSettings settings_;
  Stream stream_;
  Memory totals_;
  std::unique_ptr<Model> model_;
  std::unique_ptr<Reducer> reducer_;
};

// What overlapping communication with the backward pass gains.
struct Overlap {
  std::uint32_t ranks = 1;
  std::size_t gradient_bytes = 0;
  std::size_t buckets = 0;
  double single_seconds = 0;      // of a step with one all-reduce after the backward pass, median
  double overlapped_seconds = 0;  // in buckets, median
  double reduce_seconds = 0;      // the all-reduce alone, median
  Interval ratio;                 // overlapped to single, of pairs
  Interval noise;                 // single to single

  // Steps differ by more than 5 % from themselves: the machine was too busy to tell.
  bool is_inconclusive() const { return noise.low < 0.95 || noise.high > 1.05; }
};

// All ranks together. Errors: those of device and transport.
Result<Overlap> measure_overlap(Device& device, Transport& transport, const StepSettings& settings);

// Steps of as many ranks as the transport has.
struct Scaling {
  std::uint32_t ranks = 1;
  double step_seconds = 0;    // median
  double waited_seconds = 0;  // median
  double samples_per_second = 0;
};

Result<Scaling> measure_scaling(Device& device, Transport& transport, const StepSettings& settings);

}  // namespace pinstep::worker
