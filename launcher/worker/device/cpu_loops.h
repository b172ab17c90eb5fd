// The loops of the CPU's kernels (device/kernels.h). Each is compiled for several processors and gives the same
// bits on all of them: no multiplication is fused with an addition, and what is added up keeps its order.
//
// Pointers do not overlap unless they are the same array.
#pragma once

#include <cstddef>
#include <cstdint>

namespace pinstep::worker::loops {

void normalise(const std::uint8_t* bytes, float* out, std::size_t count, float mean, float inverse);

void add_bias(float* x, const float* bias, std::size_t rows, std::size_t columns);
void bias_relu(float* x, const float* bias, std::size_t rows, std::size_t columns);
void bias_gradient(const float* gradient, float* bias, std::size_t rows, std::size_t columns, float beta);
void bias_relu_gradient(float* gradient, const float* y, float* bias, std::size_t rows, std::size_t columns,
                        float beta);

// One row; returns its cross entropy. Exponents are taken below the largest logit, so none overflows.
double softmax_row(float* logits, std::size_t columns, std::size_t label, float scale);

void add(float* x, const float* y, std::size_t count);
void sgd(float* p, const float* g, float* v, std::size_t count, float rate, float momentum, float decay);

struct AdamW {
  float rate, keep, beta1, beta2, inverse, epsilon;
};
void adamw(float* p, const float* g, float* m, float* v, std::size_t count, const AdamW& with);

// Images of C channels are kept in groups of `lanes` channels: [C / lanes][rows][columns][lanes]. With one lane
// that is the plain order.
struct Pool {
  std::size_t images, rows, columns, channels, lanes;
  bool plain;  // y and choice: channels, rows, columns
};
void max_pool(const float* x, float* y, std::uint8_t* choice, const Pool& pool);
void max_pool_gradient(const float* gradient, const float* y, const std::uint8_t* choice, float* slope,
                       const Pool& pool);

}  // namespace pinstep::worker::loops
