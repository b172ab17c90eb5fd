#include <array>

#include "launcher/worker/device/kernels.h"
#include "launcher/worker/model/layer.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {
namespace {

// Convolution, ReLU and 2 × 2 maxima in one: what lies between them is needed only for a moment, so that all
// such layers share the memory for it, in the forward pass for the values and in the backward pass for their
// gradients.
class Convolution final : public Layer {
 public:
  Convolution(Device& device, Stream stream, const ConvolutionPlan& plan, const LayerMemory& memory,
              Memory choice)
      : device_(device), stream_(stream), plan_(plan), memory_(memory), choice_(std::move(choice)) {}

  Result<void> forward(std::size_t rows, Array x, Array y) override {
    const auto& [h, w, c, o, window, is_last] = plan_;
    const std::array<Argument, 9> convolve{
        Read{x}, Read{memory_.weight}, Read{memory_.bias}, Write{between()}, h, w, c, o, window};
    PINSTEP_TRY(device_.launch(stream_, kernel::kConvolution, rows, convolve));
    const std::array<Argument, 7> pool{Read{between()}, Write{y}, Write{choice_.array()}, h, w, o, plain()};
    return device_.launch(stream_, kernel::kMaxPool, rows, pool);
  }

  Result<void> backward(std::size_t rows, Array x, Array y, Array gradient, Array slope, Gradients gradients,
                        const Model::Ready& ready) override {
    const auto& [h, w, c, o, window, is_last] = plan_;
    const std::array<Argument, 8> unpool{
        Read{gradient}, Read{y}, Read{choice_.array()}, Write{between()}, h, w, o, plain()};
    PINSTEP_TRY(device_.launch(stream_, kernel::kMaxPoolGradient, rows, unpool));
    const float beta = gradients == Gradients::add ? 1 : 0;
    const std::array<Argument, 10> weigh{Read{x},
                                         Read{between()},
                                         Update{memory_.weight_gradient},
                                         Update{memory_.bias_gradient},
                                         h,
                                         w,
                                         c,
                                         o,
                                         window,
                                         beta};
    PINSTEP_TRY(device_.launch(stream_, kernel::kConvolutionGradient, rows, weigh));
    PINSTEP_TRY(ready(memory_.first_parameter));
    PINSTEP_TRY(ready(memory_.first_parameter + 1));
    if (slope.count == 0) return {};
    const std::array<Argument, 8> pass_back{Read{between()}, Read{memory_.weight}, Write{slope}, h, w, c, o,
                                            window};
    return device_.launch(stream_, kernel::kConvolutionSlope, rows, pass_back);
  }

 private:
  const Array& between() const { return memory_.scratch; }
  std::uint32_t plain() const { return plan_.is_last ? 1 : 0; }

  Device& device_;
  const Stream stream_;
  const ConvolutionPlan plan_;
  const LayerMemory memory_;
  const Memory choice_;
};

}  // namespace

Result<std::unique_ptr<Layer>> make_convolution(Device& device, Stream stream, const ConvolutionPlan& plan,
                                                const LayerMemory& memory, std::size_t most_rows) {
  auto choice = Memory::allocate(device, most_rows * outputs(plan), Type::u8);
  if (!choice) return tl::unexpected(choice.error());
  return std::make_unique<Convolution>(device, stream, plan, memory, std::move(*choice));
}

}  // namespace pinstep::worker
