#include "launcher/worker/model/plan.h"

#include <cmath>

#include "tests/unit/support/results.h"

namespace pinstep::worker {
namespace {

using testing_support::FailsWith;
using testing_support::Succeeds;

constexpr Task kFashion{28, 28, 10};

TEST(ReadModel, AcceptsWhatTheManualSays) {
  const struct {
    std::string_view text;
    ModelSpec::Kind kind;
    std::uint64_t parameters;
    std::uint32_t layers;
  } good[] = {
      {"mlp", ModelSpec::Kind::mlp, 0, 4},
      {"cnn", ModelSpec::Kind::cnn, 0, 4},
      {"synthetic:1", ModelSpec::Kind::synthetic, 1, 4},
      {"synthetic:300K", ModelSpec::Kind::synthetic, 300'000, 4},
      {"synthetic:25M/8", ModelSpec::Kind::synthetic, 25'000'000, 8},
      {"synthetic:1G/1", ModelSpec::Kind::synthetic, 1'000'000'000, 1},
  };
  for (const auto& [text, kind, parameters, layers] : good) {
    ModelSpec spec;
    EXPECT_TRUE(read_model(text, spec)) << text;
    EXPECT_EQ(spec.kind, kind) << text;
    EXPECT_EQ(spec.parameters, parameters) << text;
    EXPECT_EQ(spec.layers, layers) << text;
  }
}

TEST(ReadModel, RefusesTheRestAndChangesNothing) {
  for (const std::string_view text :
       {"", "MLP", "mlp:3", "synthetic", "synthetic:", "synthetic:0", "synthetic:M", "synthetic:-1",
        "synthetic:1.5M", "synthetic:1M/", "synthetic:1M/0", "synthetic:1M/1001", "synthetic:1M/2/3",
        "synthetic:9999999G", "synthetic:99999999999999999999"}) {
    ModelSpec spec;
    EXPECT_FALSE(read_model(text, spec)) << text;
    EXPECT_EQ(spec.kind, ModelSpec::Kind::mlp) << text;
    EXPECT_EQ(spec.parameters, 0U) << text;
  }
}

TEST(PlanLayers, OfEachModel) {
  ModelSpec mlp, cnn;
  cnn.kind = ModelSpec::Kind::cnn;
  cnn.hidden = {128};
  EXPECT_EQ(describe(*plan_layers(mlp, kFashion)), "784-256-128-10");
  EXPECT_EQ(*plan_layers(mlp, kFashion),
            (std::vector<LayerPlan>{LinearPlan{784, 256, true}, LinearPlan{256, 128, true},
                                    LinearPlan{128, 10, false}}));
  EXPECT_EQ(describe(*plan_layers(cnn, kFashion)), "28x28-c16-c32-128-10");
  EXPECT_EQ(*plan_layers(cnn, kFashion),
            (std::vector<LayerPlan>{ConvolutionPlan{28, 28, 1, 16, 3, false},
                                    ConvolutionPlan{14, 14, 16, 32, 3, true}, LinearPlan{1568, 128, true},
                                    LinearPlan{128, 10, false}}));
  cnn.channels = {1, 1, 1, 1, 1};
  EXPECT_THAT(plan_layers(cnn, kFashion),
              FailsWith(ErrorKind::invalid, "images of 28 x 28 pixels are too small for 5 convolutions"));
}

TEST(PlanLayers, SyntheticModelsHaveAboutAsManyParametersAsAsked) {
  for (const char* text : {"synthetic:10K", "synthetic:1M/1", "synthetic:1M/8", "synthetic:25M/8",
                           "synthetic:100M/3", "synthetic:1G/16"}) {
    ModelSpec spec;
    ASSERT_TRUE(read_model(text, spec));
    const auto layers = plan_layers(spec, kFashion);
    ASSERT_THAT(layers, Succeeds());
    EXPECT_EQ(layers->size(), spec.layers + 1) << text;
    const auto found = static_cast<double>(count(parameters_of(*layers)));
    EXPECT_NEAR(found / static_cast<double>(spec.parameters), 1, 0.05) << text;
  }
  for (const char* text : {"synthetic:10", "synthetic:1000G/1"}) {
    ModelSpec spec;
    ASSERT_TRUE(read_model(text, spec));
    EXPECT_FALSE(plan_layers(spec, kFashion)) << text;
  }
}

TEST(ParametersOf, TheLastLayerFirstWithPyTorchsShapes) {
  ModelSpec cnn;
  cnn.kind = ModelSpec::Kind::cnn;
  cnn.channels = {16};
  cnn.hidden = {};
  const auto parameters = parameters_of(*plan_layers(cnn, {6, 5, 3}));
  using Shape = std::vector<std::size_t>;
  EXPECT_EQ(parameters, (std::vector<Parameter>{{"layer2.bias", Shape{3}, 0, 3, 96},
                                                {"layer2.weight", Shape{3, 96}, 3, 288, 96},
                                                {"layer1.bias", Shape{16}, 291, 16, 9},
                                                {"layer1.weight", Shape{16, 1, 3, 3}, 307, 144, 9}}));
}

TEST(InitialValues, AreWithinPyTorchsBoundsAndTheSeeds) {
  ModelSpec cnn;
  cnn.kind = ModelSpec::Kind::cnn;
  const auto parameters = parameters_of(*plan_layers(cnn, kFashion));
  const auto values = initial_values(parameters, 1);
  EXPECT_EQ(values, initial_values(parameters, 1));
  EXPECT_NE(values, initial_values(parameters, 2));
  for (const Parameter& parameter : parameters) {
    const float bound = 1 / std::sqrt(static_cast<float>(parameter.inputs));
    float largest = 0;
    for (std::size_t i = 0; i < parameter.count; ++i)
      largest = std::max(largest, std::abs(values[parameter.offset + i]));
    EXPECT_LE(largest, bound);
    EXPECT_GT(largest, 0.7F * bound) << parameter.name;
  }
}

}  // namespace
}  // namespace pinstep::worker
