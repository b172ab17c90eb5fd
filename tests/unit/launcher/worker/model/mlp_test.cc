#include "launcher/worker/model/mlp.h"

#include <cmath>

#include "launcher/worker/data/random.h"
#include "tests/unit/launcher/worker/support/ranks.h"

namespace pinstep::worker {
namespace {

using testing_support::array;
using testing_support::Succeeds;
using Doubles = std::vector<double>;

// The same network in double precision, written down plainly: mean cross entropy of all rows.
double reference_loss(const std::vector<Parameter>& parameters, const Doubles& values, const Doubles& inputs,
                      const std::vector<std::uint8_t>& labels) {
  double loss = 0;
  const std::size_t width = inputs.size() / labels.size();
  for (std::size_t row = 0; row < labels.size(); ++row) {
    Doubles x(inputs.begin() + static_cast<std::ptrdiff_t>(row * width),
              inputs.begin() + static_cast<std::ptrdiff_t>((row + 1) * width));
    for (std::size_t unit = parameters.size(); unit > 0; unit -= 2) {
      const Parameter &bias = parameters[unit - 2], &weight = parameters[unit - 1];
      Doubles y(bias.count);
      for (std::size_t i = 0; i < y.size(); ++i) {
        y[i] = values[bias.offset + i];
        for (std::size_t j = 0; j < x.size(); ++j) y[i] += values[weight.offset + i * x.size() + j] * x[j];
        if (unit > 2) y[i] = std::max(y[i], 0.0);
      }
      x = y;
    }
    double sum = 0;
    for (const double logit : x) sum += std::exp(logit);
    loss += std::log(sum) - x[labels[row]];
  }
  return loss / static_cast<double>(labels.size());
}

struct Fixture {
  CpuDevice device;
  std::unique_ptr<Mlp> mlp;
  Doubles values, inputs;
  std::vector<std::uint8_t> labels;
  std::vector<double> totals = std::vector<double>(2);
  std::vector<std::size_t> ready;

  explicit Fixture(std::vector<std::uint32_t> sizes, std::size_t rows) {
    mlp = std::move(*Mlp::create(device, {}, sizes, rows + 3));
    const auto initial = initial_values(mlp->parameters(), 3);
    values.assign(initial.begin(), initial.end());
    std::copy(initial.begin(), initial.end(), static_cast<float*>(mlp->values().data));
    CounterRandom random(11, 0);
    for (std::size_t i = 0; i < rows * sizes.front(); ++i) {
      const float value = 4 * random.uniform() - 2;
      static_cast<float*>(mlp->inputs().data)[i] = value;
      inputs.push_back(value);
    }
    for (std::size_t i = 0; i < rows; ++i) {
      labels.push_back(static_cast<std::uint8_t>(random.below(sizes.back())));
      static_cast<std::uint8_t*>(mlp->labels().data)[i] = labels.back();
    }
  }

  void run() {
    const std::size_t rows = labels.size();
    ASSERT_THAT(mlp->forward(rows, 1 / static_cast<float>(rows), array(totals)), Succeeds());
    ASSERT_THAT(mlp->backward(rows,
                              [this](std::size_t parameter) -> Result<void> {
                                ready.push_back(parameter);
                                return {};
                              }),
                Succeeds());
  }
};

TEST(Mlp, GradientsOfEachLayerAreThoseOfFiniteDifferences) {
  for (const std::vector<std::uint32_t>& sizes :
       {std::vector<std::uint32_t>{7, 3}, {6, 5, 4}, {5, 8, 6, 3}, {4, 6, 6, 6, 2}}) {
    Fixture test(sizes, 9);
    test.run();
    EXPECT_NEAR(test.totals[0] / 9,
                reference_loss(test.mlp->parameters(), test.values, test.inputs, test.labels), 1e-5);
    const auto* gradient = static_cast<const float*>(test.mlp->gradients().data);
    for (const Parameter& parameter : test.mlp->parameters())
      for (std::size_t i = parameter.offset; i < parameter.offset + parameter.count; ++i) {
        constexpr double kStep = 1e-6;
        Doubles up = test.values, down = test.values;
        up[i] += kStep;
        down[i] -= kStep;
        const double slope = (reference_loss(test.mlp->parameters(), up, test.inputs, test.labels) -
                              reference_loss(test.mlp->parameters(), down, test.inputs, test.labels)) /
                             (2 * kStep);
        EXPECT_NEAR(gradient[i], slope, 1e-5) << parameter.name << " element " << i - parameter.offset;
      }
  }
}

TEST(Mlp, ParametersBecomeReadyInTheOrderTheyHaveInMemory) {
  Fixture test({4, 3, 2}, 5);
  test.run();
  EXPECT_EQ(test.ready, (std::vector<std::size_t>{0, 1, 2, 3}));
  std::size_t offset = 0;
  std::vector<std::string> names;
  for (const Parameter& parameter : test.mlp->parameters()) {
    EXPECT_EQ(parameter.offset, offset);
    offset += parameter.count;
    names.push_back(parameter.name);
  }
  EXPECT_EQ(names, (std::vector<std::string>{"layer2.bias", "layer2.weight", "layer1.bias", "layer1.weight"}));
  EXPECT_EQ(offset, 4U * 3 + 3 + 3 * 2 + 2);
  EXPECT_EQ(test.mlp->parameters()[3].shape, (std::vector<std::size_t>{3, 4}));
}

TEST(InitialValues, AreWithinPyTorchsBoundsAndTheSeeds) {
  const auto parameters = mlp_parameters({100, 50, 10});
  const auto values = initial_values(parameters, 1);
  EXPECT_EQ(values, initial_values(parameters, 1));
  EXPECT_NE(values, initial_values(parameters, 2));
  for (const Parameter& parameter : parameters) {
    const float bound = 1 / std::sqrt(static_cast<float>(parameter.inputs));
    float largest = 0;
    for (std::size_t i = 0; i < parameter.count; ++i)
      largest = std::max(largest, std::abs(values[parameter.offset + i]));
    EXPECT_LE(largest, bound);
    EXPECT_GT(largest, 0.8F * bound) << parameter.name;
  }
}

}  // namespace
}  // namespace pinstep::worker
