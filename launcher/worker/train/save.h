// What a rank leaves on disk after training, for any program that reads .npy and JSON:
//
//   DIR/rank-R/model.json    {"ranks": 2, "model": "cnn", "image": [28, 28], "channels": [16, 32], "sizes":
//   [1568, …, 10],
//                             "mean": …, "deviation": …, "accuracy": …}
//   DIR/rank-R/layerN.weight.npy, layerN.bias.npy   f32, as PyTorch has them: outputs × inputs × rows × columns
//                             of a convolution, outputs × inputs of a linear layer; outputs
//   DIR/rank-R/samples.npy   u32: numbers of the samples it trained on, in order
//
// An image is (grey level - mean) / deviation. First the convolutions, one for each of `channels`: zeros
// around, max(·, 0), the maxima of 2 × 2 pixels. Then, of all that in the order channels, rows, columns, the
// linear layers: x · weightᵀ + bias, and max(·, 0) but for the last; the largest output is the class.
#pragma once

#include <string>
#include <vector>

#include "envtools/base/error.h"
#include "launcher/worker/model/plan.h"

namespace pinstep::worker {

// Of Fashion-MNIST's training images, in grey levels from 0 to 255.
inline constexpr float kMeanGrey = 72.94F;
inline constexpr float kDeviationGrey = 90.02F;

struct SavedRun {
  std::uint32_t rank = 0;
  std::uint32_t ranks = 1;
  std::string model;
  std::vector<LayerPlan> layers;
  std::vector<Parameter> parameters;
  std::vector<float> values;
  std::vector<std::uint32_t> samples;
  double accuracy = 0;
};

// Before the training: makes the directories and sees that they can be written to. Errors: as
// prepare_directory().
Result<void> prepare_save(const std::string& directory, std::uint32_t rank);

// Removes what an earlier run with other layers or more ranks left of such files. model.json is written last:
// where it is, the rest is whole. Errors: refused, no_space, os.
Result<void> save(const std::string& directory, const SavedRun& run);

}  // namespace pinstep::worker
