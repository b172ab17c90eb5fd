// The kernels every device has, with the arguments each takes in this order. A row-major matrix of R rows
// is an array of R · columns elements; `items` of a launch is the R of the rows it works on.
#pragma once

#include <string_view>

namespace pinstep::worker::kernel {

// Picks and normalises images: out[i] = (images[index[i]] - mean) · inverse, labels likewise. An index
// outside is an error of the arguments.
//   Read images u8[N·pixels], Read labels u8[N], Read index i32[R], Write out f32[R·pixels],
//   Write out_labels u8[R], u32 pixels, float mean, float inverse          (mean in grey levels, 0 to 255)
inline constexpr std::string_view kGather = "gather";

// x[i][j] += bias[j].                          Update x f32[R·C], Read bias f32[C], u32 C
inline constexpr std::string_view kAddBias = "add_bias";

// x = max(x, 0).                               Update x f32[R·C], u32 C
inline constexpr std::string_view kRelu = "relu";

// gradient = 0 where the activation y is 0.    Update gradient f32[R·C], Read y f32[R·C], u32 C
inline constexpr std::string_view kReluBackward = "relu_backward";

// bias[j] = Σ_i gradient[i][j].                Read gradient f32[R·C], Write bias f32[C], u32 C
inline constexpr std::string_view kBiasGradient = "bias_gradient";

// Replaces logits by the gradient of scale · Σ cross entropy, and adds up: totals[0] += Σ cross entropy,
// totals[1] += number of rows whose largest logit (the first of equals) is the label.
//   Update logits f32[R·C], Read labels u8[R], Update totals f64[2], u32 C, float scale
inline constexpr std::string_view kSoftmaxCrossEntropy = "softmax_cross_entropy";

// As PyTorch's SGD: g += decay · p; v = momentum · v + g; p -= rate · v. `items` elements.
//   Update p f32[R], Read g f32[R], Update v f32[R], float rate, float momentum, float decay
inline constexpr std::string_view kSgd = "sgd";

}  // namespace pinstep::worker::kernel
