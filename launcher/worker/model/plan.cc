#include "launcher/worker/model/plan.h"

#include <cmath>
#include <numeric>

#include "envtools/base/text.h"
#include "launcher/worker/data/random.h"

namespace pinstep::worker {
namespace {

constexpr std::uint32_t kMostUnits = 65536;  // of a layer
constexpr std::uint32_t kMostLayers = 1000;

std::optional<std::uint64_t> read_count(std::string_view text) {
  std::uint64_t unit = 1;
  if (!text.empty()) {
    if (text.back() == 'K') unit = 1'000;
    if (text.back() == 'M') unit = 1'000'000;
    if (text.back() == 'G') unit = 1'000'000'000;
  }
  if (unit > 1) text.remove_suffix(1);
  const auto number = parse_number<std::uint64_t>(text);
  if (!number || *number == 0 || *number > (std::uint64_t{1} << 40) / unit) return std::nullopt;
  return *number * unit;
}

// A network of `hidden` layers with w units each has so many parameters.
double parameters_of_width(double w, double pixels, double classes, double hidden) {
  return (pixels + 1) * w + (hidden - 1) * (w + 1) * w + (w + 1) * classes;
}

Result<std::vector<std::uint32_t>> equal_layers(const ModelSpec& spec, const Task& task) {
  const double pixels = double{1} * task.rows * task.columns;
  const auto miss = [&](std::uint32_t width) {
    return std::abs(parameters_of_width(width, pixels, task.classes, spec.layers) -
                    static_cast<double>(spec.parameters));
  };
  std::uint32_t low = 1, high = kMostUnits;  // the nearest of all widths, by halving
  while (low < high) {
    const std::uint32_t middle = low + (high - low) / 2;
    if (miss(middle) <= miss(middle + 1))
      high = middle;
    else
      low = middle + 1;
  }
  if (low == 1 || low == kMostUnits)
    return fail(ErrorKind::usage,
                "no " + std::to_string(spec.layers) + " equal layers have about " +
                    std::to_string(spec.parameters) + " parameters",
                "synthetic:PARAMETERS/LAYERS, such as synthetic:25M/8");
  return std::vector<std::uint32_t>(spec.layers, low);
}

std::vector<std::uint32_t> sizes_of(std::uint32_t inputs, std::vector<std::uint32_t> hidden,
                                    std::uint32_t classes) {
  hidden.insert(hidden.begin(), inputs);
  hidden.push_back(classes);
  return hidden;
}

std::size_t product(const std::vector<std::size_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

}  // namespace

std::string_view name(ModelSpec::Kind kind) {
  switch (kind) {
    case ModelSpec::Kind::mlp:
      return "mlp";
    case ModelSpec::Kind::cnn:
      return "cnn";
    case ModelSpec::Kind::synthetic:
      break;
  }
  return "synthetic";
}

bool read_model(std::string_view text, ModelSpec& spec) {
  if (text == "mlp" || text == "cnn") {
    spec.kind = text == "mlp" ? ModelSpec::Kind::mlp : ModelSpec::Kind::cnn;
    return true;
  }
  const auto halves = split_once(text, ':');
  if (!halves || halves->before != "synthetic") return false;
  const auto sizes = split_once(halves->after, '/');
  const auto parameters = read_count(sizes ? sizes->before : halves->after);
  const auto layers = parse_number<std::uint32_t>(sizes ? sizes->after : "4");
  if (!parameters || !layers || *layers == 0 || *layers > kMostLayers) return false;
  spec.kind = ModelSpec::Kind::synthetic;
  spec.parameters = *parameters;
  spec.layers = *layers;
  return true;
}

std::size_t inputs(const LayerPlan& layer) {
  if (const auto* linear = std::get_if<LinearPlan>(&layer)) return linear->inputs;
  const auto& convolution = std::get<ConvolutionPlan>(layer);
  return std::size_t{convolution.channels} * convolution.rows * convolution.columns;
}

std::size_t outputs(const LayerPlan& layer) {
  if (const auto* linear = std::get_if<LinearPlan>(&layer)) return linear->outputs;
  const auto& convolution = std::get<ConvolutionPlan>(layer);
  return std::size_t{convolution.outputs} * (convolution.rows / 2) * (convolution.columns / 2);
}

std::vector<LayerPlan> linear_layers(const std::vector<std::uint32_t>& sizes) {
  std::vector<LayerPlan> layers;
  for (std::size_t i = 0; i + 1 < sizes.size(); ++i)
    layers.push_back(LinearPlan{sizes[i], sizes[i + 1], i + 2 < sizes.size()});
  return layers;
}

Result<std::vector<LayerPlan>> plan_layers(const ModelSpec& spec, const Task& task) {
  if (spec.kind == ModelSpec::Kind::synthetic) {
    auto hidden = equal_layers(spec, task);
    if (!hidden) return tl::unexpected(hidden.error());
    return linear_layers(sizes_of(task.rows * task.columns, *hidden, task.classes));
  }
  std::vector<LayerPlan> layers;
  std::uint32_t rows = task.rows, columns = task.columns, channels = 1;
  if (spec.kind == ModelSpec::Kind::cnn)
    for (std::size_t i = 0; i < spec.channels.size(); ++i) {
      if (rows < 2 || columns < 2)
        return fail(ErrorKind::invalid, "images of " + std::to_string(task.rows) + " x " +
                                            std::to_string(task.columns) + " pixels are too small for " +
                                            std::to_string(spec.channels.size()) + " convolutions");
      layers.push_back(
          ConvolutionPlan{rows, columns, channels, spec.channels[i], 3, i + 1 == spec.channels.size()});
      rows /= 2, columns /= 2, channels = spec.channels[i];
    }
  const auto linear = linear_layers(sizes_of(rows * columns * channels, spec.hidden, task.classes));
  layers.insert(layers.end(), linear.begin(), linear.end());
  return layers;
}

std::string describe(const std::vector<LayerPlan>& layers) {
  std::string text;
  for (const LayerPlan& layer : layers) {
    if (const auto* linear = std::get_if<LinearPlan>(&layer)) {
      if (text.empty()) text = std::to_string(linear->inputs);
      text += "-" + std::to_string(linear->outputs);
    } else {
      const auto& convolution = std::get<ConvolutionPlan>(layer);
      if (text.empty()) text = std::to_string(convolution.rows) + "x" + std::to_string(convolution.columns);
      text += "-c" + std::to_string(convolution.outputs);
    }
  }
  return text;
}

std::vector<Parameter> parameters_of(const std::vector<LayerPlan>& layers) {
  std::vector<Parameter> parameters;
  std::size_t offset = 0;
  const auto add = [&](std::size_t layer, const char* part, std::vector<std::size_t> shape,
                       std::size_t inputs) {
    const std::size_t count = product(shape);
    parameters.push_back(
        {"layer" + std::to_string(layer + 1) + "." + part, std::move(shape), offset, count, inputs});
    offset += count;
  };
  for (std::size_t layer = layers.size(); layer-- > 0;) {
    std::vector<std::size_t> shape;
    if (const auto* linear = std::get_if<LinearPlan>(&layers[layer])) {
      shape = {linear->outputs, linear->inputs};
    } else {
      const auto& convolution = std::get<ConvolutionPlan>(layers[layer]);
      shape = {convolution.outputs, convolution.channels, convolution.window, convolution.window};
    }
    const std::size_t inputs = product(shape) / shape[0];
    add(layer, "bias", {shape[0]}, inputs);
    add(layer, "weight", std::move(shape), inputs);
  }
  return parameters;
}

std::size_t count(const std::vector<Parameter>& parameters) {
  return parameters.empty() ? 0 : parameters.back().offset + parameters.back().count;
}

std::vector<float> initial_values(const std::vector<Parameter>& parameters, std::uint64_t seed) {
  constexpr std::uint64_t kPart = std::uint64_t{1} << 63;  // beyond all epochs, whose orders have the same seed
  std::vector<float> values(count(parameters));
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    const Parameter& parameter = parameters[i];
    const float bound = 1 / std::sqrt(static_cast<float>(parameter.inputs));
    CounterRandom random(seed, kPart + i);
    for (std::size_t j = 0; j < parameter.count; ++j)
      values[parameter.offset + j] = bound * (2 * random.uniform() - 1);
  }
  return values;
}

}  // namespace pinstep::worker
