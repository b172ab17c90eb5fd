// What a model consists of, as values: which layers, of which sizes, with which parameters. No memory and no
// device.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep::worker {

struct ModelSpec {
  enum class Kind {
    mlp,        // linear layers with ReLU between them
    cnn,        // convolutions first, each with ReLU and a 2 × 2 maximum
    synthetic,  // an mlp of equal layers with about so many parameters: to see how something scales
  };

  Kind kind = Kind::mlp;
  std::vector<std::uint32_t> hidden{256, 128};  // mlp, cnn: units of the hidden linear layers
  std::vector<std::uint32_t> channels{16, 32};  // cnn: that each convolution makes
  std::uint64_t parameters = 0;                 // synthetic
  std::uint32_t layers = 4;                     // synthetic: hidden ones
};

// "mlp", "cnn", "synthetic"
std::string_view name(ModelSpec::Kind kind);
// Reads "mlp", "cnn", "synthetic:PARAMETERS" and "synthetic:PARAMETERS/LAYERS", with K, M, G (1000s); false and
// nothing changed where it is none of these.
bool read_model(std::string_view text, ModelSpec& spec);

// What the model is to tell apart: images of one channel.
struct Task {
  std::uint32_t rows = 0, columns = 0;
  std::uint32_t classes = 0;
};

struct LinearPlan {
  std::uint32_t inputs = 0, outputs = 0;
  bool relu = false;

  bool operator==(const LinearPlan&) const = default;
};

// 3 × 3 or so, zeros around, then ReLU and 2 × 2 maxima.
struct ConvolutionPlan {
  std::uint32_t rows = 0, columns = 0;  // of its input
  std::uint32_t channels = 0, outputs = 0;
  std::uint32_t window = 3;
  bool is_last = false;  // of the convolutions

  bool operator==(const ConvolutionPlan&) const = default;
};

using LayerPlan = std::variant<LinearPlan, ConvolutionPlan>;

std::size_t inputs(const LayerPlan& layer);  // elements of each row
std::size_t outputs(const LayerPlan& layer);

// With so many inputs, units of each layer, and outputs; ReLU between them.
std::vector<LayerPlan> linear_layers(const std::vector<std::uint32_t>& sizes);

// First to last. Errors: invalid (an image too small for so many convolutions, too few parameters).
Result<std::vector<LayerPlan>> plan_layers(const ModelSpec& spec, const Task& task);

// "784-256-128-10"; "28x28-c16-c32-128-10": the image, channels of the convolutions, outputs of linear layers.
std::string describe(const std::vector<LayerPlan>& layers);

struct Parameter {
  std::string name;                // "layer1.weight"
  std::vector<std::size_t> shape;  // as PyTorch's Linear and Conv2d have it
  std::size_t offset = 0;          // elements in the array of all
  std::size_t count = 0;
  std::size_t inputs = 0;  // of the unit it belongs to: the scale of its initial values

  bool operator==(const Parameter&) const = default;
};

// Bias and weight of each layer, the last layer first: in this order the backward pass makes their gradients,
// so that a bucket is a piece of the array. Layers are numbered from 1 by their place in the model.
std::vector<Parameter> parameters_of(const std::vector<LayerPlan>& layers);

std::size_t count(const std::vector<Parameter>& parameters);

// PyTorch's default for Linear and Conv2d: uniform within ± 1/√inputs. Decided by the seed alone.
std::vector<float> initial_values(const std::vector<Parameter>& parameters, std::uint64_t seed);

}  // namespace pinstep::worker
