#include "launcher/worker/model/network.h"

#include <algorithm>
#include <array>

#include "launcher/worker/device/kernels.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {

std::size_t scratch_of(const LayerPlan& plan) {
  const auto* convolution = std::get_if<ConvolutionPlan>(&plan);
  return convolution == nullptr ? 0
                                : std::size_t{convolution->outputs} * convolution->rows * convolution->columns;
}

Result<std::unique_ptr<Layer>> make_layer(Device& device, Stream stream, const LayerPlan& plan,
                                          const LayerMemory& memory, std::size_t most_rows) {
  if (const auto* linear = std::get_if<LinearPlan>(&plan)) return make_linear(device, stream, *linear, memory);
  return make_convolution(device, stream, std::get<ConvolutionPlan>(plan), memory, most_rows);
}

Network::Network(Device& device, Stream stream, std::vector<LayerPlan> plans, std::size_t most_rows)
    : device_(device),
      stream_(stream),
      plans_(std::move(plans)),
      most_rows_(most_rows),
      parameters_(parameters_of(plans_)) {}

Result<std::unique_ptr<Network>> Network::create(Device& device, Stream stream, std::vector<LayerPlan> plans,
                                                 std::size_t most_rows) {
  std::unique_ptr<Network> network(new Network(device, stream, std::move(plans), most_rows));
  PINSTEP_TRY(network->allocate());
  PINSTEP_TRY(network->make_layers());
  return network;
}

Result<void> Network::allocate() {
  const auto make = [this](Memory& memory, std::size_t count, Type type) -> Result<void> {
    auto made = Memory::allocate(device_, count, type);
    if (!made) return tl::unexpected(made.error());
    memory = std::move(*made);
    return {};
  };
  PINSTEP_TRY(make(values_, count(parameters_), Type::f32));
  PINSTEP_TRY(make(gradients_, count(parameters_), Type::f32));
  PINSTEP_TRY(make(labels_, most_rows_, Type::u8));
  std::size_t scratch = 0, slope = 0;
  activations_.resize(plans_.size() + 1);
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    scratch = std::max(scratch, scratch_of(plans_[i]));
    if (i > 0) slope = std::max(slope, worker::inputs(plans_[i]));
    PINSTEP_TRY(make(activations_[i], most_rows_ * worker::inputs(plans_[i]), Type::f32));
  }
  PINSTEP_TRY(make(activations_.back(), most_rows_ * outputs(plans_.back()), Type::f32));
  PINSTEP_TRY(make(scratch_, most_rows_ * scratch, Type::f32));
  for (Memory& memory : slopes_) PINSTEP_TRY(make(memory, most_rows_ * slope, Type::f32));
  return {};
}

Result<void> Network::make_layers() {
  for (std::size_t i = 0; i < plans_.size(); ++i) {
    const std::size_t bias = 2 * (plans_.size() - 1 - i), weight = bias + 1;
    const LayerMemory memory{
        part(values_, weight), part(values_, bias), part(gradients_, weight), part(gradients_, bias), bias,
        scratch_.array()};
    auto layer = make_layer(device_, stream_, plans_[i], memory, most_rows_);
    if (!layer) return tl::unexpected(layer.error());
    layers_.push_back(std::move(*layer));
  }
  return {};
}

Array Network::part(const Memory& memory, std::size_t parameter) const {
  return memory.array().part(parameters_[parameter].offset, parameters_[parameter].count);
}

Result<void> Network::forward(std::size_t rows, float scale, Array totals) {
  for (std::size_t i = 0; i < layers_.size(); ++i)
    PINSTEP_TRY(layers_[i]->forward(rows, activations_[i].array(), activations_[i + 1].array()));
  const auto classes = static_cast<std::uint32_t>(outputs(plans_.back()));
  const std::array<Argument, 5> arguments{Update{activations_.back().array()}, Read{labels_.array()},
                                          Update{totals}, classes, scale};
  return device_.launch(stream_, kernel::kSoftmaxCrossEntropy, rows, arguments);
}

Result<void> Network::backward(std::size_t rows, Gradients gradients, const Ready& ready) {
  Array gradient = activations_.back().array();
  for (std::size_t i = layers_.size(); i-- > 0;) {
    const Array slope = i > 0 ? slopes_[i % 2].array() : Array{};
    PINSTEP_TRY(layers_[i]->backward(rows, activations_[i].array(), activations_[i + 1].array(), gradient,
                                     slope, gradients, ready));
    gradient = slope;
  }
  return {};
}

}  // namespace pinstep::worker
