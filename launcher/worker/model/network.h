// A model of layers one after the other, with softmax cross entropy at the end.
#pragma once

#include <memory>

#include "launcher/worker/device/memory.h"
#include "launcher/worker/model/layer.h"

namespace pinstep::worker {

class Network final : public Model {
 public:
  // Its memory is for batches of at most `most_rows`. All its work is given to `stream`. Errors: no_space.
  static Result<std::unique_ptr<Network>> create(Device& device, Stream stream, std::vector<LayerPlan> plans,
                                                 std::size_t most_rows);

  const std::vector<Parameter>& parameters() const override { return parameters_; }
  Array values() override { return values_.array(); }
  Array gradients() override { return gradients_.array(); }
  Array inputs() override { return activations_.front().array(); }
  Array labels() override { return labels_.array(); }
  std::size_t most_rows() const override { return most_rows_; }
  Result<void> forward(std::size_t rows, float scale, Array totals) override;
  Result<void> backward(std::size_t rows, Gradients gradients, const Ready& ready) override;

 private:
  Network(Device& device, Stream stream, std::vector<LayerPlan> plans, std::size_t most_rows);
  Result<void> allocate();
  Result<void> make_layers();
  Array part(const Memory& memory, std::size_t parameter) const;

  Device& device_;
  const Stream stream_;
  const std::vector<LayerPlan> plans_;
  const std::size_t most_rows_;
  const std::vector<Parameter> parameters_;
  Memory values_, gradients_, labels_, scratch_;
  // Inputs and each layer's outputs; after forward() the last one holds the gradient of its own.
  std::vector<Memory> activations_;
  Memory slopes_[2];  // gradients of hidden layers' outputs; each is needed until the next is made
  std::vector<std::unique_ptr<Layer>> layers_;
};

}  // namespace pinstep::worker
