// A multi-layer perceptron: linear layers with ReLU between them, softmax cross entropy at the end.
#pragma once

#include <memory>

#include "launcher/worker/device/memory.h"
#include "launcher/worker/model/model.h"

namespace pinstep::worker {

// `sizes`: inputs, hidden units of each layer, classes. Layers are numbered from 1; the last one comes first.
std::vector<Parameter> mlp_parameters(const std::vector<std::uint32_t>& sizes);

class Mlp final : public Model {
 public:
  // Its memory is for batches of at most `most_rows`. All its work is given to `stream`. Errors: no_space.
  static Result<std::unique_ptr<Mlp>> create(Device& device, Stream stream, std::vector<std::uint32_t> sizes,
                                             std::size_t most_rows);

  const std::vector<Parameter>& parameters() const override { return parameters_; }
  Array values() override { return values_.array(); }
  Array gradients() override { return gradients_.array(); }
  Array inputs() override { return activations_.front().array(); }
  Array labels() override { return labels_.array(); }
  std::size_t most_rows() const override { return most_rows_; }
  Result<void> forward(std::size_t rows, float scale, Array totals) override;
  Result<void> backward(std::size_t rows, const Ready& ready) override;

 private:
  Mlp(Device& device, Stream stream, std::vector<std::uint32_t> sizes, std::size_t most_rows);
  Result<void> allocate();

  std::size_t layers() const { return sizes_.size() - 1; }
  // Of layer 0 to layers() - 1.
  std::size_t bias(std::size_t layer) const { return 2 * (layers() - 1 - layer); }
  std::size_t weight(std::size_t layer) const { return bias(layer) + 1; }
  Array part(const Memory& memory, std::size_t parameter) const;
  Result<void> forward_layer(std::size_t layer, std::size_t rows);
  Result<void> backward_layer(std::size_t layer, std::size_t rows, const Ready& ready);
  Result<void> pass_back(std::size_t layer, std::size_t rows);

  Device& device_;
  const Stream stream_;
  const std::vector<std::uint32_t> sizes_;
  const std::size_t most_rows_;
  std::vector<Parameter> parameters_;
  Memory values_, gradients_, labels_;
  // Inputs and each layer's outputs; after forward() the last one holds the gradient of its own.
  std::vector<Memory> activations_;
  std::vector<Memory> slopes_;  // gradient of each hidden layer's outputs
};

}  // namespace pinstep::worker
