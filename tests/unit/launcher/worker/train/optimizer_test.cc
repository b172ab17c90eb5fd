#include "launcher/worker/train/optimizer.h"

#include <cmath>

#include "launcher/worker/device/cpu_device.h"
#include "tests/unit/launcher/worker/support/ranks.h"

namespace pinstep::worker {
namespace {

using testing_support::array;
using testing_support::Succeeds;
using Floats = std::vector<float>;

// Three steps from p = {1, -2, 0.5} with the gradients {0.1, -3, 0}, {0.2, 1, 0}, {-0.5, 0.01, 4}: what
// torch.optim 1.13 gives in double precision.
TEST(Optimizer, DoesTheStepsOfPyTorch) {
  const std::vector<Floats> gradients{{0.1F, -3, 0}, {0.2F, 1, 0}, {-0.5F, 0.01F, 4}};
  const struct {
    OptimizerSettings settings;
    Floats expected;
  } cases[] = {
      // SGD(lr=0.1, momentum=0.9, weight_decay=0.05)
      {{OptimizerSettings::Kind::sgd, 0.1F, 0.05F, 0.9F, 0, 0, 0}, {0.957259625F, -1.32733225F, 0.0860349375F}},
      // SGD(lr=0.1)
      {{OptimizerSettings::Kind::sgd, 0.1F, 0, 0, 0, 0, 0}, {1.02F, -1.801F, 0.1F}},
      // AdamW(lr=0.01, weight_decay=0.1, betas=(0.9, 0.999), eps=1e-8)
      {{OptimizerSettings::Kind::adamw, 0.01F, 0.1F, 0, 0.9F, 0.999F, 1e-8F},
       {0.980168579F, -1.97695434F, 0.492113364F}},
  };
  for (const auto& [settings, expected] : cases) {
    CpuDevice device;
    auto optimizer = Optimizer::create(device, {}, settings, 3);
    ASSERT_THAT(optimizer, Succeeds());
    Floats p{1, -2, 0.5F};
    for (std::size_t step = 0; step < 3; ++step) {
      Floats g = gradients[step];
      ASSERT_THAT(optimizer->step(step + 1, array(p), array(g)), Succeeds());
    }
    for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(p[i], expected[i], 2e-7 * std::abs(expected[i])) << i;
  }
}

TEST(Optimizer, SaysWhatItRemembers) {
  CpuDevice device;
  for (const auto& [kind, names] :
       {std::pair{OptimizerSettings::Kind::sgd, std::vector<std::string_view>{"momentum"}},
        std::pair{OptimizerSettings::Kind::adamw, std::vector<std::string_view>{"mean", "square"}}}) {
    auto optimizer = Optimizer::create(device, {}, {.kind = kind}, 2);
    ASSERT_THAT(optimizer, Succeeds());
    Floats p{1, 1}, g{2, -2};
    ASSERT_THAT(optimizer->step(1, array(p), array(g)), Succeeds());
    std::vector<std::string_view> found;
    for (const Optimizer::Moment& moment : optimizer->moments()) {
      found.push_back(moment.name);
      EXPECT_EQ(moment.array.count, 2U);
      EXPECT_NE(static_cast<const float*>(moment.array.data)[0], 0) << moment.name;
    }
    EXPECT_EQ(found, names);
  }
}

}  // namespace
}  // namespace pinstep::worker
