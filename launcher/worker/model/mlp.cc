#include "launcher/worker/model/mlp.h"

#include <array>

#include "launcher/worker/device/kernels.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {
namespace {

template <std::size_t N>
Result<void> launch(Device& device, Stream stream, std::string_view kernel, std::size_t rows,
                    const std::array<Argument, N>& arguments) {
  return device.launch(stream, kernel, rows, arguments);
}

}  // namespace

std::vector<Parameter> mlp_parameters(const std::vector<std::uint32_t>& sizes) {
  std::vector<Parameter> parameters;
  std::size_t offset = 0;
  const auto add = [&](const std::string& name, std::vector<std::size_t> shape, std::size_t inputs) {
    std::size_t count = 1;
    for (const std::size_t size : shape) count *= size;
    parameters.push_back({name, std::move(shape), offset, count, inputs});
    offset += count;
  };
  for (std::size_t layer = sizes.size() - 1; layer > 0; --layer) {
    const std::string name = "layer" + std::to_string(layer);
    add(name + ".bias", {sizes[layer]}, sizes[layer - 1]);
    add(name + ".weight", {sizes[layer], sizes[layer - 1]}, sizes[layer - 1]);
  }
  return parameters;
}

Mlp::Mlp(Device& device, Stream stream, std::vector<std::uint32_t> sizes, std::size_t most_rows)
    : device_(device),
      stream_(stream),
      sizes_(std::move(sizes)),
      most_rows_(most_rows),
      parameters_(mlp_parameters(sizes_)) {}

Result<std::unique_ptr<Mlp>> Mlp::create(Device& device, Stream stream, std::vector<std::uint32_t> sizes,
                                         std::size_t most_rows) {
  std::unique_ptr<Mlp> mlp(new Mlp(device, stream, std::move(sizes), most_rows));
  PINSTEP_TRY(mlp->allocate());
  return mlp;
}

Result<void> Mlp::allocate() {
  const auto make = [this](Memory& memory, std::size_t count, Type type) -> Result<void> {
    auto made = Memory::allocate(device_, count, type);
    if (!made) return tl::unexpected(made.error());
    memory = std::move(*made);
    return {};
  };
  PINSTEP_TRY(make(values_, count(parameters_), Type::f32));
  PINSTEP_TRY(make(gradients_, count(parameters_), Type::f32));
  PINSTEP_TRY(make(labels_, most_rows_, Type::u8));
  activations_.resize(sizes_.size());
  slopes_.resize(sizes_.size());
  for (std::size_t i = 0; i < sizes_.size(); ++i) {
    PINSTEP_TRY(make(activations_[i], most_rows_ * sizes_[i], Type::f32));
    if (i > 0 && i < layers()) PINSTEP_TRY(make(slopes_[i], most_rows_ * sizes_[i], Type::f32));
  }
  return {};
}

Array Mlp::part(const Memory& memory, std::size_t parameter) const {
  return memory.array().part(parameters_[parameter].offset, parameters_[parameter].count);
}

Result<void> Mlp::forward(std::size_t rows, float scale, Array totals) {
  for (std::size_t layer = 0; layer < layers(); ++layer) PINSTEP_TRY(forward_layer(layer, rows));
  return launch<5>(
      device_, stream_, kernel::kSoftmaxCrossEntropy, rows,
      {Update{activations_.back().array()}, Read{labels_.array()}, Update{totals}, sizes_.back(), scale});
}

// y = x · Wᵀ + b, and ReLU unless it is the last.
Result<void> Mlp::forward_layer(std::size_t layer, std::size_t rows) {
  const std::uint32_t inputs = sizes_[layer], outputs = sizes_[layer + 1];
  const Array& y = activations_[layer + 1].array();
  Gemm product;
  product.op_b = Gemm::Op::transposed;
  product.m = rows, product.n = outputs, product.k = inputs;
  product.a = activations_[layer].array(), product.lda = inputs;
  product.b = part(values_, weight(layer)), product.ldb = inputs;
  product.c = y, product.ldc = outputs;
  PINSTEP_TRY(device_.gemm(stream_, product));
  PINSTEP_TRY(launch<3>(device_, stream_, kernel::kAddBias, rows,
                        {Update{y}, Read{part(values_, bias(layer))}, outputs}));
  if (layer + 1 == layers()) return {};
  return launch<2>(device_, stream_, kernel::kRelu, rows, {Update{y}, outputs});
}

Result<void> Mlp::backward(std::size_t rows, const Ready& ready) {
  for (std::size_t layer = layers(); layer-- > 0;) PINSTEP_TRY(backward_layer(layer, rows, ready));
  return {};
}

// With g the gradient of the layer's outputs: of the bias Σ g, of the weights gᵀ · x, of the inputs g · W.
Result<void> Mlp::backward_layer(std::size_t layer, std::size_t rows, const Ready& ready) {
  const std::uint32_t inputs = sizes_[layer], outputs = sizes_[layer + 1];
  const Array& g = layer + 1 == layers() ? activations_.back().array() : slopes_[layer + 1].array();
  PINSTEP_TRY(launch<3>(device_, stream_, kernel::kBiasGradient, rows,
                        {Read{g}, Write{part(gradients_, bias(layer))}, outputs}));
  PINSTEP_TRY(ready(bias(layer)));
  Gemm product;
  product.op_a = Gemm::Op::transposed;
  product.m = outputs, product.n = inputs, product.k = rows;
  product.a = g, product.lda = outputs;
  product.b = activations_[layer].array(), product.ldb = inputs;
  product.c = part(gradients_, weight(layer)), product.ldc = inputs;
  PINSTEP_TRY(device_.gemm(stream_, product));
  PINSTEP_TRY(ready(weight(layer)));
  return layer == 0 ? Result<void>() : pass_back(layer, rows);
}

Result<void> Mlp::pass_back(std::size_t layer, std::size_t rows) {
  const std::uint32_t inputs = sizes_[layer], outputs = sizes_[layer + 1];
  Gemm product;
  product.m = rows, product.n = inputs, product.k = outputs;
  product.a = layer + 1 == layers() ? activations_.back().array() : slopes_[layer + 1].array(),
  product.lda = outputs;
  product.b = part(values_, weight(layer)), product.ldb = inputs;
  product.c = slopes_[layer].array(), product.ldc = inputs;
  PINSTEP_TRY(device_.gemm(stream_, product));
  return launch<3>(device_, stream_, kernel::kReluBackward, rows,
                   {Update{slopes_[layer].array()}, Read{activations_[layer].array()}, inputs});
}

}  // namespace pinstep::worker
