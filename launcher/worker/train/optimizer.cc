#include "launcher/worker/train/optimizer.h"

#include <array>
#include <cmath>

#include "launcher/worker/device/kernels.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {

std::string_view name(OptimizerSettings::Kind kind) {
  return kind == OptimizerSettings::Kind::sgd ? "sgd" : "adamw";
}

Result<Optimizer> Optimizer::create(Device& device, Stream stream, const OptimizerSettings& settings,
                                    std::size_t parameters) {
  Optimizer optimizer(device, stream, settings);
  for (Memory* memory : {&optimizer.first_, &optimizer.second_}) {
    if (memory == &optimizer.second_ && settings.kind == OptimizerSettings::Kind::sgd) break;
    auto made = Memory::allocate(device, parameters, Type::f32);
    if (!made) return tl::unexpected(made.error());
    *memory = std::move(*made);
    if (auto done = device.zero(stream, memory->array()); !done) return tl::unexpected(done.error());
  }
  return optimizer;
}

Result<void> Optimizer::step(std::uint64_t step, Array values, Array gradients) {
  const OptimizerSettings& s = settings_;
  if (s.kind == OptimizerSettings::Kind::sgd) {
    const std::array<Argument, 6> arguments{Update{values}, Read{gradients}, Update{first_.array()},
                                            s.rate,         s.momentum,      s.decay};
    return device_->launch(stream_, kernel::kSgd, values.count, arguments);
  }
  // The moments begin with zero: what they are too small by, in double precision as beta2 is close to 1.
  const auto number = static_cast<double>(step);
  const double of_mean = 1 - std::pow(static_cast<double>(s.beta1), number);
  const double of_square = 1 - std::pow(static_cast<double>(s.beta2), number);
  const std::array<Argument, 10> arguments{Update{values},
                                           Read{gradients},
                                           Update{first_.array()},
                                           Update{second_.array()},
                                           static_cast<float>(s.rate / of_mean),
                                           1 - s.rate * s.decay,
                                           s.beta1,
                                           s.beta2,
                                           static_cast<float>(1 / std::sqrt(of_square)),
                                           s.epsilon};
  return device_->launch(stream_, kernel::kAdamW, values.count, arguments);
}

std::vector<Optimizer::Moment> Optimizer::moments() const {
  if (settings_.kind == OptimizerSettings::Kind::sgd) return {{"momentum", first_.array()}};
  return {{"mean", first_.array()}, {"square", second_.array()}};
}

}  // namespace pinstep::worker
