// What changes the parameters by their gradients, in one pass over all of them: SGD with momentum or AdamW, as
// PyTorch has them.
#pragma once

#include <string_view>
#include <vector>

#include "launcher/worker/device/memory.h"

namespace pinstep::worker {

struct OptimizerSettings {
  enum class Kind { sgd, adamw };

  Kind kind = Kind::sgd;
  float rate = 0.05F;
  float decay = 0;        // sgd: added to the gradient; adamw: of the parameter itself
  float momentum = 0.9F;  // sgd
  float beta1 = 0.9F, beta2 = 0.999F, epsilon = 1e-8F;  // adamw
};

std::string_view name(OptimizerSettings::Kind kind);

class Optimizer {
 public:
  // For `parameters` elements. The device must live longer. Errors: no_space.
  static Result<Optimizer> create(Device& device, Stream stream, const OptimizerSettings& settings,
                                  std::size_t parameters);

  // `step` counts from 1.
  Result<void> step(std::uint64_t step, Array values, Array gradients);

  // What it remembers from step to step, an element for each parameter.
  struct Moment {
    std::string_view name;  // "momentum"; "mean", "square"
    Array array;
  };
  std::vector<Moment> moments() const;

 private:
  Optimizer(Device& device, Stream stream, const OptimizerSettings& settings)
      : device_(&device), stream_(stream), settings_(settings) {}

  Device* device_;
  Stream stream_;
  OptimizerSettings settings_;
  Memory first_, second_;  // sgd: momentum alone
};

}  // namespace pinstep::worker
