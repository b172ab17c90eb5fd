#include <array>

#include "launcher/worker/device/kernels.h"
#include "launcher/worker/model/layer.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {
namespace {

class Linear final : public Layer {
 public:
  Linear(Device& device, Stream stream, const LinearPlan& plan, const LayerMemory& memory)
      : device_(device), stream_(stream), plan_(plan), memory_(memory) {}

  // y = x · Wᵀ + b, and max(y, 0) with ReLU.
  Result<void> forward(std::size_t rows, Array x, Array y) override {
    Gemm product;
    product.op_b = Gemm::Op::transposed;
    product.m = rows, product.n = plan_.outputs, product.k = plan_.inputs;
    product.a = x, product.lda = plan_.inputs;
    product.b = memory_.weight, product.ldb = plan_.inputs;
    product.c = y, product.ldc = plan_.outputs;
    PINSTEP_TRY(device_.gemm(stream_, product));
    const std::array<Argument, 3> arguments{Update{y}, Read{memory_.bias}, plan_.outputs};
    return device_.launch(stream_, plan_.relu ? kernel::kBiasRelu : kernel::kAddBias, rows, arguments);
  }

  // With g the gradient of the sums: of the bias Σ g, of the weights gᵀ · x, of x g · W.
  Result<void> backward(std::size_t rows, Array x, Array y, Array g, Array slope, Gradients gradients,
                        const Model::Ready& ready) override {
    const float beta = gradients == Gradients::add ? 1 : 0;
    PINSTEP_TRY(bias_gradient(rows, y, g, beta));
    PINSTEP_TRY(ready(memory_.first_parameter));
    Gemm product;
    product.op_a = Gemm::Op::transposed;
    product.m = plan_.outputs, product.n = plan_.inputs, product.k = rows;
    product.beta = beta;
    product.a = g, product.lda = plan_.outputs;
    product.b = x, product.ldb = plan_.inputs;
    product.c = memory_.weight_gradient, product.ldc = plan_.inputs;
    PINSTEP_TRY(device_.gemm(stream_, product));
    PINSTEP_TRY(ready(memory_.first_parameter + 1));
    return slope.count == 0 ? Result<void>() : pass_back(rows, g, slope);
  }

 private:
  Result<void> bias_gradient(std::size_t rows, Array y, Array g, float beta) {
    const Array bias = memory_.bias_gradient;
    if (plan_.relu) {
      const std::array<Argument, 5> arguments{Update{g}, Read{y}, Update{bias}, plan_.outputs, beta};
      return device_.launch(stream_, kernel::kBiasReluGradient, rows, arguments);
    }
    const std::array<Argument, 4> arguments{Read{g}, Update{bias}, plan_.outputs, beta};
    return device_.launch(stream_, kernel::kBiasGradient, rows, arguments);
  }

  Result<void> pass_back(std::size_t rows, Array g, Array slope) {
    Gemm product;
    product.m = rows, product.n = plan_.inputs, product.k = plan_.outputs;
    product.a = g, product.lda = plan_.outputs;
    product.b = memory_.weight, product.ldb = plan_.inputs;
    product.c = slope, product.ldc = plan_.inputs;
    return device_.gemm(stream_, product);
  }

  Device& device_;
  const Stream stream_;
  const LinearPlan plan_;
  const LayerMemory memory_;
};

}  // namespace

std::unique_ptr<Layer> make_linear(Device& device, Stream stream, const LinearPlan& plan,
                                   const LayerMemory& memory) {
  return std::make_unique<Linear>(device, stream, plan, memory);
}

}  // namespace pinstep::worker
