// The kernels every device has, with the arguments each takes in this order. A row-major matrix of R rows
// is an array of R · columns elements; `items` of a launch is the R of the rows it works on.
//
// An array that is added to by `beta` becomes beta · itself + what is said; with beta 0 its old content does
// not matter.
#pragma once

#include <string_view>

namespace pinstep::worker::kernel {

// Grey levels as numbers: out = (bytes - mean) · inverse.
//   Read bytes u8[R·C], Write out f32[R·C], u32 C, float mean, float inverse     (mean in grey levels, 0 to
//   255)
inline constexpr std::string_view kNormalise = "normalise";

// ---- Linear layers

// x[i][j] += bias[j].                          Update x f32[R·C], Read bias f32[C], u32 C
inline constexpr std::string_view kAddBias = "add_bias";

// x[i][j] = max(x[i][j] + bias[j], 0).         Update x f32[R·C], Read bias f32[C], u32 C
inline constexpr std::string_view kBiasRelu = "bias_relu";

// bias[j] = beta · bias[j] + Σ_i gradient[i][j].
//   Read gradient f32[R·C], Update bias f32[C], u32 C, float beta
inline constexpr std::string_view kBiasGradient = "bias_gradient";

// gradient = 0 where the activation y is 0, then as bias_gradient.
//   Update gradient f32[R·C], Read y f32[R·C], Update bias f32[C], u32 C, float beta
inline constexpr std::string_view kBiasReluGradient = "bias_relu_gradient";

// Replaces logits by the gradient of scale · Σ cross entropy, and adds up: totals[0] += Σ cross entropy,
// totals[1] += number of rows whose largest logit (the first of equals) is the label.
//   Update logits f32[R·C], Read labels u8[R], Update totals f64[2], u32 C, float scale
inline constexpr std::string_view kSoftmaxCrossEntropy = "softmax_cross_entropy";

// ---- Convolutions: stride 1, an odd window, as many zeros around the image that it keeps its size
//
// Images have the order that the device likes best ("inner"), but for those that plain linear algebra sees:
// the first layer's input (one channel) and what max_pool writes where `plain` is 1 (channels, rows,
// columns). Weights are plain: outputs, channels, rows, columns. A shape is four u32: rows and columns of the
// image, channels C in, outputs O; `window` is a u32 as well.

// y = max(x ∗ weights + bias, 0).
//   Read x f32[R·C·H·W], Read weights f32[O·C·window²], Read bias f32[O], Write y f32[R·O·H·W], shape, window
inline constexpr std::string_view kConvolution = "convolution";

// Of weights and bias, from the gradient of x ∗ weights + bias.
//   Read x, Read gradient f32[R·O·H·W], Update weights, Update bias, shape, window, float beta
inline constexpr std::string_view kConvolutionGradient = "convolution_gradient";

// Of x.                        Read gradient, Read weights, Write slope f32[R·C·H·W], shape, window
inline constexpr std::string_view kConvolutionSlope = "convolution_slope";

// The largest of each 2 × 2 pixels, and which it was; an odd last row or column is left out.
//   Read x f32[R·C·H·W], Write y f32[R·C·(H/2)·(W/2)], Write choice u8[as y], u32 H, u32 W, u32 C, u32 plain
inline constexpr std::string_view kMaxPool = "max_pool";

// Where it came from; nothing where y is 0, the gradient of ReLU before the pooling.
//   Read gradient f32[as y], Read y, Read choice, Write slope f32[R·C·H·W], u32 H, u32 W, u32 C, u32 plain
inline constexpr std::string_view kMaxPoolGradient = "max_pool_gradient";

// ---- All parameters at once; `items` elements

// x += y.                                      Update x f32[R], Read y f32[R]
inline constexpr std::string_view kAdd = "add";

// As PyTorch's SGD: g += decay · p; v = momentum · v + g; p -= rate · v.
//   Update p f32[R], Read g f32[R], Update v f32[R], float rate, float momentum, float decay
inline constexpr std::string_view kSgd = "sgd";

// As PyTorch's AdamW: p *= keep; m += (1 - beta1) · (g - m); v = beta2 · v + (1 - beta2) · g²;
// p -= rate · m / (√v · inverse + epsilon), with keep, rate and inverse of this step.
//   Update p f32[R], Read g f32[R], Update m f32[R], Update v f32[R],
//   float rate, float keep, float beta1, float beta2, float inverse, float epsilon
inline constexpr std::string_view kAdamW = "adamw";

}  // namespace pinstep::worker::kernel
