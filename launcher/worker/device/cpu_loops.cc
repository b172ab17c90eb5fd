#include "launcher/worker/device/cpu_loops.h"

#include <algorithm>
#include <cmath>
#include <cstring>

// The widest vectors that the processor has, chosen when the program starts.
#if defined(__x86_64__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define PINSTEP_WIDE __attribute__((target_clones("default", "avx2", "avx512f")))
#else
#define PINSTEP_WIDE
#endif

namespace pinstep::worker::loops {

PINSTEP_WIDE void normalise(const std::uint8_t* bytes, float* __restrict out, std::size_t count, float mean,
                            float inverse) {
  for (std::size_t i = 0; i < count; ++i) out[i] = (static_cast<float>(bytes[i]) - mean) * inverse;
}

PINSTEP_WIDE void add_bias(float* __restrict x, const float* bias, std::size_t rows, std::size_t columns) {
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) x[i * columns + j] += bias[j];
}

PINSTEP_WIDE void bias_relu(float* __restrict x, const float* bias, std::size_t rows, std::size_t columns) {
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      const float sum = x[i * columns + j] + bias[j];
      x[i * columns + j] = sum > 0 ? sum : 0;
    }
}

PINSTEP_WIDE void bias_gradient(const float* gradient, float* __restrict bias, std::size_t rows,
                                std::size_t columns, float beta) {
  for (std::size_t j = 0; j < columns; ++j) bias[j] = beta == 0 ? 0 : beta * bias[j];
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) bias[j] += gradient[i * columns + j];
}

PINSTEP_WIDE void bias_relu_gradient(float* __restrict gradient, const float* __restrict y,
                                     float* __restrict bias, std::size_t rows, std::size_t columns,
                                     float beta) {
  for (std::size_t j = 0; j < columns; ++j) bias[j] = beta == 0 ? 0 : beta * bias[j];
  for (std::size_t i = 0; i < rows; ++i)
    for (std::size_t j = 0; j < columns; ++j) {
      const float kept = y[i * columns + j] > 0 ? gradient[i * columns + j] : 0;
      gradient[i * columns + j] = kept;
      bias[j] += kept;
    }
}

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

PINSTEP_WIDE void add(float* __restrict x, const float* __restrict y, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) x[i] += y[i];
}

PINSTEP_WIDE void sgd(float* __restrict p, const float* __restrict g, float* __restrict v, std::size_t count,
                      float rate, float momentum, float decay) {
  for (std::size_t i = 0; i < count; ++i) {
    v[i] = momentum * v[i] + (g[i] + decay * p[i]);
    p[i] -= rate * v[i];
  }
}

PINSTEP_WIDE void adamw(float* __restrict p, const float* __restrict g, float* __restrict m,
                        float* __restrict v, std::size_t count, const AdamW& with) {
  const auto [rate, keep, beta1, beta2, inverse, epsilon] = with;
  for (std::size_t i = 0; i < count; ++i) {
    m[i] += (1 - beta1) * (g[i] - m[i]);
    v[i] = beta2 * v[i] + (1 - beta2) * (g[i] * g[i]);
    p[i] = p[i] * keep - rate * (m[i] / (std::sqrt(v[i]) * inverse + epsilon));
  }
}

namespace {

// One group of channels of one image, with so many lanes that the compiler knows. `to(pixel, lane)` is where y
// has this lane of this pixel.
template <std::size_t kLanes, class To>
inline __attribute__((always_inline)) void pool_group(const float* x, float* y, std::uint8_t* choice,
                                                      std::size_t rows, std::size_t columns, const To& to) {
  for (std::size_t r = 0; r < rows / 2; ++r)
    for (std::size_t c = 0; c < columns / 2; ++c) {
      const float* corner = x + (2 * r * columns + 2 * c) * kLanes;
      const float *right = corner + kLanes, *below = corner + columns * kLanes, *last = below + kLanes;
      float largest[kLanes];
      std::int32_t which[kLanes];
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        largest[lane] = corner[lane];
        which[lane] = 0;
      }
      std::int32_t number = 0;
      for (const float* other : {right, below, last}) {
        ++number;
        for (std::size_t lane = 0; lane < kLanes; ++lane) {
          which[lane] = other[lane] > largest[lane] ? number : which[lane];
          largest[lane] = other[lane] > largest[lane] ? other[lane] : largest[lane];
        }
      }
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::size_t at = to(r * (columns / 2) + c, lane);
        y[at] = largest[lane];
        choice[at] = static_cast<std::uint8_t>(which[lane]);
      }
    }
}

template <std::size_t kLanes, class From>
inline __attribute__((always_inline)) void spread_group(const float* gradient, const float* y,
                                                        const std::uint8_t* choice, float* slope,
                                                        std::size_t rows, std::size_t columns,
                                                        const From& from) {
  if (rows % 2 != 0 || columns % 2 != 0) std::memset(slope, 0, rows * columns * kLanes * sizeof(float));
  for (std::size_t r = 0; r < rows / 2; ++r)
    for (std::size_t c = 0; c < columns / 2; ++c) {
      float* corner = slope + (2 * r * columns + 2 * c) * kLanes;
      float* const parts[] = {corner, corner + kLanes, corner + columns * kLanes,
                              corner + (columns + 1) * kLanes};
      float kept[kLanes];
      std::int32_t which[kLanes];
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const std::size_t at = from(r * (columns / 2) + c, lane);
        kept[lane] = y[at] > 0 ? gradient[at] : 0;
        which[lane] = choice[at];
      }
      for (std::int32_t number = 0; number < 4; ++number)
        for (std::size_t lane = 0; lane < kLanes; ++lane)
          parts[number][lane] = which[lane] == number ? kept[lane] : 0;
    }
}

// Calls act(group's first element of x, of y, place) for each group of each image.
template <std::size_t kLanes, class Act>
inline __attribute__((always_inline)) void each_group(const Pool& p, const Act& act) {
  const std::size_t pixels = p.rows * p.columns, pooled = (p.rows / 2) * (p.columns / 2);
  for (std::size_t group = 0; group < p.images * (p.channels / kLanes); ++group) {
    const std::size_t x = group * pixels * kLanes, y = group * pooled * kLanes;
    if (p.plain)
      act(x, y, [pooled](std::size_t pixel, std::size_t lane) { return lane * pooled + pixel; });
    else
      act(x, y, [](std::size_t pixel, std::size_t lane) { return pixel * kLanes + lane; });
  }
}

template <std::size_t kLanes>
inline __attribute__((always_inline)) void pool_lanes(const float* x, float* y, std::uint8_t* choice,
                                                      const Pool& p) {
  each_group<kLanes>(p, [&](std::size_t at_x, std::size_t at_y, const auto& to) {
    pool_group<kLanes>(x + at_x, y + at_y, choice + at_y, p.rows, p.columns, to);
  });
}

template <std::size_t kLanes>
inline __attribute__((always_inline)) void spread_lanes(const float* gradient, const float* y,
                                                        const std::uint8_t* choice, float* slope,
                                                        const Pool& p) {
  each_group<kLanes>(p, [&](std::size_t at_x, std::size_t at_y, const auto& from) {
    spread_group<kLanes>(gradient + at_y, y + at_y, choice + at_y, slope + at_x, p.rows, p.columns, from);
  });
}

}  // namespace

PINSTEP_WIDE void max_pool(const float* x, float* y, std::uint8_t* choice, const Pool& pool) {
  if (pool.lanes == 16) return pool_lanes<16>(x, y, choice, pool);
  if (pool.lanes == 8) return pool_lanes<8>(x, y, choice, pool);
  pool_lanes<1>(x, y, choice, pool);
}

PINSTEP_WIDE void max_pool_gradient(const float* gradient, const float* y, const std::uint8_t* choice,
                                    float* slope, const Pool& pool) {
  if (pool.lanes == 16) return spread_lanes<16>(gradient, y, choice, slope, pool);
  if (pool.lanes == 8) return spread_lanes<8>(gradient, y, choice, slope, pool);
  spread_lanes<1>(gradient, y, choice, slope, pool);
}

}  // namespace pinstep::worker::loops
