// One layer of a network: its passes, on memory that the network gives it.
#pragma once

#include <memory>

#include "launcher/worker/device/memory.h"
#include "launcher/worker/model/model.h"

namespace pinstep::worker {

// What a layer works with. All live longer than it.
struct LayerMemory {
  Array weight, bias, weight_gradient, bias_gradient;
  std::size_t first_parameter = 0;  // the bias; the weight is the next
  Array scratch;                    // scratch_of(plan) elements of each row, shared by the layers
};

class Layer {
 public:
  virtual ~Layer() = default;

  // y of the first `rows` rows of x.
  virtual Result<void> forward(std::size_t rows, Array x, Array y) = 0;
  // With `gradient` that of y, which is used up: the parameters' gradients, each told to `ready` when it is
  // given to the stream, and the gradient of x in `slope`, unless that is empty. x and y are those of
  // forward().
  virtual Result<void> backward(std::size_t rows, Array x, Array y, Array gradient, Array slope,
                                Gradients gradients, const Model::Ready& ready) = 0;
};

// Errors: no_space.
Result<std::unique_ptr<Layer>> make_layer(Device& device, Stream stream, const LayerPlan& plan,
                                          const LayerMemory& memory, std::size_t most_rows);

std::size_t scratch_of(const LayerPlan& plan);

// Each in its file.
std::unique_ptr<Layer> make_linear(Device& device, Stream stream, const LinearPlan& plan,
                                   const LayerMemory& memory);
Result<std::unique_ptr<Layer>> make_convolution(Device& device, Stream stream, const ConvolutionPlan& plan,
                                                const LayerMemory& memory, std::size_t most_rows);

}  // namespace pinstep::worker
