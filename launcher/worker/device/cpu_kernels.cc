#include "launcher/worker/device/cpu_kernels.h"

#include <algorithm>
#include <array>

#include "launcher/worker/device/cpu_arguments.h"
#include "launcher/worker/device/cpu_loops.h"
#include "launcher/worker/device/kernels.h"

namespace pinstep::worker {
namespace {

// Each checks that its arrays are long enough.

bool normalise(std::size_t rows, In<std::uint8_t> bytes, Out<float> out, std::uint32_t columns, float mean,
               float inverse) {
  if (bytes.count < rows * columns || out.count < rows * columns) return false;
  loops::normalise(bytes.data, out.data, rows * columns, mean, inverse);
  return true;
}

bool add_bias(std::size_t rows, InOut<float> x, In<float> bias, std::uint32_t columns) {
  if (x.count < rows * columns || bias.count < columns) return false;
  loops::add_bias(x.data, bias.data, rows, columns);
  return true;
}

bool bias_relu(std::size_t rows, InOut<float> x, In<float> bias, std::uint32_t columns) {
  if (x.count < rows * columns || bias.count < columns) return false;
  loops::bias_relu(x.data, bias.data, rows, columns);
  return true;
}

bool bias_gradient(std::size_t rows, In<float> gradient, InOut<float> bias, std::uint32_t columns, float beta) {
  if (gradient.count < rows * columns || bias.count < columns) return false;
  loops::bias_gradient(gradient.data, bias.data, rows, columns, beta);
  return true;
}

bool bias_relu_gradient(std::size_t rows, InOut<float> gradient, In<float> y, InOut<float> bias,
                        std::uint32_t columns, float beta) {
  if (gradient.count < rows * columns || y.count < rows * columns || bias.count < columns) return false;
  loops::bias_relu_gradient(gradient.data, y.data, bias.data, rows, columns, beta);
  return true;
}

bool softmax_cross_entropy(std::size_t rows, InOut<float> logits, In<std::uint8_t> labels, InOut<double> totals,
                           std::uint32_t columns, float scale) {
  if (columns == 0 || logits.count < rows * columns || labels.count < rows || totals.count < 2) return false;
  if (!std::all_of(labels.data, labels.data + rows, [&](std::uint8_t label) { return label < columns; }))
    return false;
  for (std::size_t i = 0; i < rows; ++i) {
    float* row = logits.data + i * columns;
    if (std::max_element(row, row + columns) == row + labels[i]) totals[1] += 1;
    totals[0] += loops::softmax_row(row, columns, labels[i], scale);
  }
  return true;
}

bool add(std::size_t items, InOut<float> x, In<float> y) {
  if (x.count < items || y.count < items) return false;
  loops::add(x.data, y.data, items);
  return true;
}

bool sgd(std::size_t items, InOut<float> p, In<float> g, InOut<float> v, float rate, float momentum,
         float decay) {
  if (p.count < items || g.count < items || v.count < items) return false;
  loops::sgd(p.data, g.data, v.data, items, rate, momentum, decay);
  return true;
}

bool adamw(std::size_t items, InOut<float> p, In<float> g, InOut<float> m, InOut<float> v, float rate,
           float keep, float beta1, float beta2, float inverse, float epsilon) {
  if (p.count < items || g.count < items || m.count < items || v.count < items) return false;
  loops::adamw(p.data, g.data, m.data, v.data, items, {rate, keep, beta1, beta2, inverse, epsilon});
  return true;
}

// Whether arrays hold so many images, not pooled and pooled.
bool fits(const loops::Pool& pool, std::size_t images, std::size_t pooled) {
  const std::size_t count = pool.images * pool.channels;
  return images >= count * pool.rows * pool.columns && pooled >= count * (pool.rows / 2) * (pool.columns / 2);
}

bool max_pool(std::size_t images, In<float> x, Out<float> y, Out<std::uint8_t> choice, std::uint32_t rows,
              std::uint32_t columns, std::uint32_t channels, std::uint32_t plain) {
  const loops::Pool pool{images, rows, columns, channels, cpu_lanes(channels), plain != 0};
  if (!fits(pool, x.count, std::min(y.count, choice.count))) return false;
  loops::max_pool(x.data, y.data, choice.data, pool);
  return true;
}

bool max_pool_gradient(std::size_t images, In<float> gradient, In<float> y, In<std::uint8_t> choice,
                       Out<float> slope, std::uint32_t rows, std::uint32_t columns, std::uint32_t channels,
                       std::uint32_t plain) {
  const loops::Pool pool{images, rows, columns, channels, cpu_lanes(channels), plain != 0};
  if (!fits(pool, slope.count, std::min({gradient.count, y.count, choice.count}))) return false;
  loops::max_pool_gradient(gradient.data, y.data, choice.data, slope.data, pool);
  return true;
}

template <class... Parameters>
bool call(bool (*function)(std::size_t, Parameters...), std::size_t items,
          std::span<const Argument> arguments) {
  return call_with<Parameters...>(
      arguments, [&](const Parameters&... parameters) { return function(items, parameters...); });
}

template <auto function>
bool run(std::size_t items, std::span<const Argument> arguments) {
  return call(function, items, arguments);
}

constexpr std::array kKernels{
    CpuKernel{kernel::kNormalise, run<normalise>},
    CpuKernel{kernel::kAddBias, run<add_bias>},
    CpuKernel{kernel::kBiasRelu, run<bias_relu>},
    CpuKernel{kernel::kBiasGradient, run<bias_gradient>},
    CpuKernel{kernel::kBiasReluGradient, run<bias_relu_gradient>},
    CpuKernel{kernel::kSoftmaxCrossEntropy, run<softmax_cross_entropy>},
    CpuKernel{kernel::kMaxPool, run<max_pool>},
    CpuKernel{kernel::kMaxPoolGradient, run<max_pool_gradient>},
    CpuKernel{kernel::kAdd, run<add>},
    CpuKernel{kernel::kSgd, run<sgd>},
    CpuKernel{kernel::kAdamW, run<adamw>},
};

}  // namespace

const CpuKernel* find_cpu_kernel(std::string_view name) {
  const auto found =
      std::find_if(kKernels.begin(), kKernels.end(), [&](const CpuKernel& k) { return k.name == name; });
  return found == kKernels.end() ? nullptr : &*found;
}

}  // namespace pinstep::worker
