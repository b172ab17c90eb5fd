#include "launcher/worker/model/network.h"

#include <cmath>

#include "launcher/worker/data/random.h"
#include "tests/unit/launcher/worker/support/ranks.h"

namespace pinstep::worker {
namespace {

using testing_support::array;
using testing_support::Succeeds;
using Doubles = std::vector<double>;

// The same layers in double precision, written down plainly.

Doubles linear(const LinearPlan& plan, const double* weight, const double* bias, const Doubles& x) {
  Doubles y(plan.outputs);
  for (std::size_t i = 0; i < y.size(); ++i) {
    y[i] = bias[i];
    for (std::size_t j = 0; j < x.size(); ++j) y[i] += weight[i * x.size() + j] * x[j];
    if (plan.relu) y[i] = std::max(y[i], 0.0);
  }
  return y;
}

// One element of the sums, before ReLU.
double convolved(const ConvolutionPlan& p, const double* weight, const Doubles& x, std::size_t o,
                 std::ptrdiff_t row, std::ptrdiff_t column) {
  double sum = 0;
  const auto half = static_cast<std::ptrdiff_t>(p.window / 2);
  for (std::size_t c = 0; c < p.channels; ++c)
    for (std::ptrdiff_t i = -half; i <= half; ++i)
      for (std::ptrdiff_t j = -half; j <= half; ++j) {
        const std::ptrdiff_t r = row + i, s = column + j;
        if (r < 0 || s < 0 || r >= static_cast<std::ptrdiff_t>(p.rows) ||
            s >= static_cast<std::ptrdiff_t>(p.columns))
          continue;
        const auto at = static_cast<std::size_t>((i + half) * static_cast<std::ptrdiff_t>(p.window) + j + half);
        sum += weight[(o * p.channels + c) * p.window * p.window + at] *
               x[(c * p.rows + static_cast<std::size_t>(r)) * p.columns + static_cast<std::size_t>(s)];
      }
  return sum;
}

Doubles convolution(const ConvolutionPlan& p, const double* weight, const double* bias, const Doubles& x) {
  Doubles y;
  for (std::size_t o = 0; o < p.outputs; ++o)
    for (std::size_t r = 0; r < p.rows / 2; ++r)
      for (std::size_t c = 0; c < p.columns / 2; ++c) {
        double largest = 0;  // which is ReLU
        for (std::size_t i = 0; i < 4; ++i)
          largest =
              std::max(largest, bias[o] + convolved(p, weight, x, o, static_cast<std::ptrdiff_t>(2 * r + i / 2),
                                                    static_cast<std::ptrdiff_t>(2 * c + i % 2)));
        y.push_back(largest);
      }
  return y;
}

// Mean cross entropy of all rows.
double reference_loss(const std::vector<LayerPlan>& plans, const Doubles& values, const Doubles& inputs,
                      const std::vector<std::uint8_t>& labels) {
  const auto parameters = parameters_of(plans);
  double loss = 0;
  const std::size_t width = inputs.size() / labels.size();
  for (std::size_t row = 0; row < labels.size(); ++row) {
    const auto first = inputs.begin() + static_cast<std::ptrdiff_t>(row * width);
    Doubles x(first, first + static_cast<std::ptrdiff_t>(width));
    for (std::size_t i = 0; i < plans.size(); ++i) {
      const std::size_t at = 2 * (plans.size() - 1 - i);
      const double *bias = &values[parameters[at].offset], *weight = &values[parameters[at + 1].offset];
      if (const auto* plan = std::get_if<LinearPlan>(&plans[i]))
        x = linear(*plan, weight, bias, x);
      else
        x = convolution(std::get<ConvolutionPlan>(plans[i]), weight, bias, x);
    }
    double sum = 0;
    for (const double logit : x) sum += std::exp(logit);
    loss += std::log(sum) - x[labels[row]];
  }
  return loss / static_cast<double>(labels.size());
}

struct Fixture {
  CpuDevice device;
  std::vector<LayerPlan> plans;
  std::unique_ptr<Network> network;
  Doubles values, inputs;
  std::vector<std::uint8_t> labels;
  std::vector<double> totals = std::vector<double>(2);
  std::vector<std::size_t> ready;

  Fixture(const ModelSpec& spec, const Task& task, std::size_t rows) {
    device.use_threads(1);
    plans = *plan_layers(spec, task);
    network = std::move(*Network::create(device, {}, plans, rows + 3));
    const auto initial = initial_values(network->parameters(), 3);
    values.assign(initial.begin(), initial.end());
    std::copy(initial.begin(), initial.end(), static_cast<float*>(network->values().data));
    CounterRandom random(11, 0);
    for (std::size_t i = 0; i < rows * task.rows * task.columns; ++i) {
      const float value = 4 * random.uniform() - 2;
      static_cast<float*>(network->inputs().data)[i] = value;
      inputs.push_back(value);
    }
    for (std::size_t i = 0; i < rows; ++i) {
      labels.push_back(static_cast<std::uint8_t>(random.below(task.classes)));
      static_cast<std::uint8_t*>(network->labels().data)[i] = labels.back();
    }
  }

  void run(Gradients gradients = Gradients::replace) {
    const std::size_t rows = labels.size();
    ready.clear();
    ASSERT_THAT(network->forward(rows, 1 / static_cast<float>(rows), array(totals)), Succeeds());
    ASSERT_THAT(network->backward(rows, gradients,
                                  [this](std::size_t parameter) -> Result<void> {
                                    ready.push_back(parameter);
                                    return {};
                                  }),
                Succeeds());
  }

  std::vector<float> gradient() const {
    const auto* first = static_cast<const float*>(network->gradients().data);
    return {first, first + network->gradients().count};
  }

  double loss(const Doubles& of) const { return reference_loss(plans, of, inputs, labels); }

  double slope(std::size_t element) const {
    constexpr double kStep = 1e-6;
    Doubles up = values, down = values;
    up[element] += kStep;
    down[element] -= kStep;
    return (loss(up) - loss(down)) / (2 * kStep);
  }
};

ModelSpec mlp(std::vector<std::uint32_t> hidden) { return {ModelSpec::Kind::mlp, std::move(hidden), {}, 0, 0}; }

ModelSpec cnn(std::vector<std::uint32_t> channels, std::vector<std::uint32_t> hidden) {
  return {ModelSpec::Kind::cnn, std::move(hidden), std::move(channels), 0, 0};
}

struct Case {
  ModelSpec spec;
  Task task;
  std::size_t rows;
};

std::vector<Case> cases() {
  std::vector<Case> cases{
      {mlp({}), {7, 1, 3}, 9},
      {mlp({5}), {2, 3, 4}, 9},
      {mlp({8, 6}), {5, 1, 3}, 9},
      {mlp({6, 6, 6}), {4, 1, 2}, 9},
  };
  if (!CpuConvolutions::are_there()) return cases;
  cases.push_back({cnn({16}, {}), {4, 4, 3}, 3});
  cases.push_back({cnn({3}, {5}), {5, 6, 3}, 3});       // no vector's width, odd rows
  cases.push_back({cnn({16, 32}, {8}), {8, 7, 4}, 3});  // odd columns
  cases.push_back({cnn({16, 16, 8}, {}), {8, 8, 2}, 2});
  return cases;
}

TEST(Network, GradientsOfEachLayerAreThoseOfFiniteDifferences) {
  constexpr std::size_t kMostElements = 40;  // of each parameter, spread over it
  for (const auto& [spec, task, rows] : cases()) {
    Fixture test(spec, task, rows);
    test.run();
    EXPECT_NEAR(test.totals[0] / static_cast<double>(rows), test.loss(test.values), 1e-5);
    const auto gradient = test.gradient();
    for (const Parameter& parameter : test.network->parameters())
      for (std::size_t i = 0; i < parameter.count; i += 1 + parameter.count / kMostElements)
        EXPECT_NEAR(gradient[parameter.offset + i], test.slope(parameter.offset + i), 1e-5)
            << describe(test.plans) << " " << parameter.name << " element " << i;
  }
}

TEST(Network, GradientsAreAddedToThoseThatAreThere) {
  for (const auto& [spec, task, rows] : cases()) {
    Fixture test(spec, task, rows);
    test.run();
    const auto once = test.gradient();
    test.run(Gradients::add);
    const auto twice = test.gradient();
    for (std::size_t i = 0; i < once.size(); ++i)
      EXPECT_NEAR(twice[i], 2 * once[i], 1e-6) << describe(test.plans) << " element " << i;
    test.run();
    EXPECT_EQ(test.gradient(), once) << describe(test.plans);
  }
}

TEST(Network, FewerRowsThanBeforeAreRightToo) {
  for (const auto& [spec, task, rows] : cases()) {
    Fixture all(spec, task, rows), fewer(spec, task, rows);
    all.run();
    fewer.run();
    for (Fixture* test : {&all, &fewer}) {
      test->labels.resize(rows - 1);
      test->inputs.resize((rows - 1) * task.rows * task.columns);
    }
    fewer.run();
    EXPECT_NEAR(fewer.gradient()[0], all.slope(0), 1e-5) << describe(all.plans);
  }
}

TEST(Network, ParametersBecomeReadyInTheOrderTheyHaveInMemory) {
  for (const auto& [spec, task, rows] : cases()) {
    Fixture test(spec, task, rows);
    test.run();
    std::size_t offset = 0;
    for (std::size_t i = 0; i < test.network->parameters().size(); ++i) {
      EXPECT_EQ(test.ready[i], i);
      EXPECT_EQ(test.network->parameters()[i].offset, offset);
      offset += test.network->parameters()[i].count;
    }
    EXPECT_EQ(test.ready.size(), test.network->parameters().size());
    EXPECT_EQ(test.network->values().count, offset);
  }
}

}  // namespace
}  // namespace pinstep::worker
