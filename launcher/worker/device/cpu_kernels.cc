#include "launcher/worker/device/cpu_kernels.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <tuple>

#include "launcher/worker/device/kernels.h"

namespace pinstep::worker {
namespace {

// ---- From checked arguments to a function's parameters: In<float>, Out<float>, std::uint32_t, float

template <class T>
constexpr Type type_of();
template <>
constexpr Type type_of<float>() {
  return Type::f32;
}
template <>
constexpr Type type_of<double>() {
  return Type::f64;
}
template <>
constexpr Type type_of<std::int32_t>() {
  return Type::i32;
}
template <>
constexpr Type type_of<std::uint8_t>() {
  return Type::u8;
}

template <class T, class How, class Element>
struct View {
  Element* data = nullptr;
  std::size_t count = 0;

  Element& operator[](std::size_t i) const { return data[i]; }

  static bool take(const Argument& argument, View& view) {
    const How* how = std::get_if<How>(&argument);
    if (how == nullptr || how->array.type != type_of<T>()) return false;
    view = {static_cast<Element*>(how->array.data), how->array.count};
    return true;
  }
};

template <class T>
using In = View<T, Read, const T>;
template <class T>
using Out = View<T, Write, T>;
template <class T>
using InOut = View<T, Update, T>;

template <class Parameter>
bool take(const Argument& argument, Parameter& parameter) {
  if constexpr (std::is_arithmetic_v<Parameter>) {
    const Parameter* value = std::get_if<Parameter>(&argument);
    if (value != nullptr) parameter = *value;
    return value != nullptr;
  } else {
    return Parameter::take(argument, parameter);
  }
}

template <class... Parameters, std::size_t... I>
bool call(bool (*function)(std::size_t, Parameters...), std::size_t items, std::span<const Argument> arguments,
          std::index_sequence<I...>) {
  std::tuple<Parameters...> values;
  return arguments.size() == sizeof...(Parameters) && (take(arguments[I], std::get<I>(values)) && ...) &&
         function(items, std::get<I>(values)...);
}

template <class... Parameters>
constexpr auto positions(bool (*)(std::size_t, Parameters...)) {
  return std::index_sequence_for<Parameters...>();
}

template <auto function>
bool run(std::size_t items, std::span<const Argument> arguments) {
  return call(function, items, arguments, positions(function));
}

// ---- The kernels; each checks that its arrays are long enough

bool gather(std::size_t rows, In<std::uint8_t> images, In<std::uint8_t> labels, In<std::int32_t> index,
            Out<float> out, Out<std::uint8_t> out_labels, std::uint32_t pixels, float mean, float inverse) {
  if (pixels == 0 || images.count / pixels < labels.count || index.count < rows || out.count < rows * pixels ||
      out_labels.count < rows)
    return false;
  const auto is_there = [&](std::int32_t i) { return i >= 0 && static_cast<std::size_t>(i) < labels.count; };
  if (!std::all_of(index.data, index.data + rows, is_there)) return false;
  for (std::size_t row = 0; row < rows; ++row) {
    const auto from = static_cast<std::size_t>(index[row]);
    const std::uint8_t* image = images.data + from * pixels;
    float* to = out.data + row * pixels;
    for (std::size_t j = 0; j < pixels; ++j) to[j] = (static_cast<float>(image[j]) - mean) * inverse;
    out_labels[row] = labels[from];
  }
  return true;
}

bool add_bias(std::size_t rows, InOut<float> x, In<float> bias, std::uint32_t columns) {
  if (x.count < rows * columns || bias.count < columns) return false;
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) x[i * columns + j] += bias[j];
  return true;
}

bool relu(std::size_t rows, InOut<float> x, std::uint32_t columns) {
  if (x.count < rows * columns) return false;
  for (std::size_t i = 0; i < rows * columns; ++i) x[i] = x[i] > 0 ? x[i] : 0;
  return true;
}

bool relu_backward(std::size_t rows, InOut<float> gradient, In<float> y, std::uint32_t columns) {
  if (gradient.count < rows * columns || y.count < rows * columns) return false;
  for (std::size_t i = 0; i < rows * columns; ++i) gradient[i] = y[i] > 0 ? gradient[i] : 0;
  return true;
}

bool bias_gradient(std::size_t rows, In<float> gradient, Out<float> bias, std::uint32_t columns) {
  if (gradient.count < rows * columns || bias.count < columns) return false;
  std::fill_n(bias.data, columns, 0.0F);
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) bias[j] += gradient[i * columns + j];
  return true;
}

// One row; returns its cross entropy. Exponents are taken below the largest logit, so none overflows.
double softmax_row(float* logits, std::size_t columns, std::size_t label, float scale) {
  const float largest = *std::max_element(logits, logits + columns);
  const double of_label = logits[label] - largest;
  double sum = 0;
  for (std::size_t j = 0; j < columns; ++j) {
    logits[j] = std::exp(logits[j] - largest);
    sum += logits[j];
  }
  for (std::size_t j = 0; j < columns; ++j)
    logits[j] = scale * (logits[j] / static_cast<float>(sum) - (j == label ? 1.0F : 0.0F));
  return std::log(sum) - of_label;
}

bool softmax_cross_entropy(std::size_t rows, InOut<float> logits, In<std::uint8_t> labels, InOut<double> totals,
                           std::uint32_t columns, float scale) {
  if (columns == 0 || logits.count < rows * columns || labels.count < rows || totals.count < 2) return false;
  if (!std::all_of(labels.data, labels.data + rows, [&](std::uint8_t label) { return label < columns; }))
    return false;
  for (std::size_t i = 0; i < rows; ++i) {
    float* row = logits.data + i * columns;
    if (std::max_element(row, row + columns) == row + labels[i]) totals[1] += 1;
    totals[0] += softmax_row(row, columns, labels[i], scale);
  }
  return true;
}

bool sgd(std::size_t items, InOut<float> p, In<float> g, InOut<float> v, float rate, float momentum,
         float decay) {
  if (p.count < items || g.count < items || v.count < items) return false;
  for (std::size_t i = 0; i < items; ++i) {
    v[i] = momentum * v[i] + (g[i] + decay * p[i]);
    p[i] -= rate * v[i];
  }
  return true;
}

constexpr std::array kKernels{
    CpuKernel{kernel::kGather, run<gather>},
    CpuKernel{kernel::kAddBias, run<add_bias>},
    CpuKernel{kernel::kRelu, run<relu>},
    CpuKernel{kernel::kReluBackward, run<relu_backward>},
    CpuKernel{kernel::kBiasGradient, run<bias_gradient>},
    CpuKernel{kernel::kSoftmaxCrossEntropy, run<softmax_cross_entropy>},
    CpuKernel{kernel::kSgd, run<sgd>},
};

}  // namespace

const CpuKernel* find_cpu_kernel(std::string_view name) {
  const auto found =
      std::find_if(kKernels.begin(), kKernels.end(), [&](const CpuKernel& k) { return k.name == name; });
  return found == kKernels.end() ? nullptr : &*found;
}

}  // namespace pinstep::worker
