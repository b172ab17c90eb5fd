// What is trained: values, gradients and the passes that make them, on a Device.
//
// All parameters are in one array, those gradients first that the backward pass makes first (parameters_of).
#pragma once

#include <functional>
#include <vector>

#include "launcher/worker/device/device.h"
#include "launcher/worker/model/plan.h"

namespace pinstep::worker {

enum class Gradients { replace, add };  // what is there already

class Model {
 public:
  using Ready = std::function<Result<void>(std::size_t parameter)>;

  virtual ~Model() = default;

  virtual const std::vector<Parameter>& parameters() const = 0;  // in the order of the array
  virtual Array values() = 0;
  virtual Array gradients() = 0;

  // Where a batch is put: inputs f32[most · pixels], labels u8[most].
  virtual Array inputs() = 0;
  virtual Array labels() = 0;
  virtual std::size_t most_rows() const = 0;

  // Forward pass of the first `rows` inputs; adds Σ loss and the number of right answers to `totals` (f64[2])
  // and leaves the gradient of scale · Σ loss for backward().
  virtual Result<void> forward(std::size_t rows, float scale, Array totals) = 0;
  // Gradients of the last forward(); calls `ready` for each parameter, in order, when it is given to the
  // stream.
  virtual Result<void> backward(std::size_t rows, Gradients gradients, const Ready& ready) = 0;
};

}  // namespace pinstep::worker
