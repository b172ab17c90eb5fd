// Data-parallel training: each rank has all parameters and its share of each batch; gradients are added up.
//
// Deterministic: with the same seed, data, settings and number of ranks all runs end with the same bits, on all
// ranks. N ranks with batch B do the steps of one rank with batch N·B, but for the order of additions; with
// virtual shards every number of ranks that divides theirs ends with the same bits.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "launcher/worker/checkpoint/checkpoint.h"
#include "launcher/worker/data/images.h"
#include "launcher/worker/data/loader.h"
#include "launcher/worker/data/sampler.h"
#include "launcher/worker/data/steps.h"
#include "launcher/worker/device/memory.h"
#include "launcher/worker/model/model.h"
#include "launcher/worker/reducer/reducer.h"
#include "launcher/worker/reducer/shards.h"
#include "launcher/worker/train/identity.h"
#include "launcher/worker/train/optimizer.h"
#include "launcher/worker/train/settings.h"

namespace pinstep::worker {

struct EpochReport {
  std::uint32_t epoch = 0;  // from 1
  std::uint64_t steps = 0;  // in this epoch
  double loss = 0;          // mean over the samples trained on, before each step
  double train_accuracy = 0;
  double test_loss = 0;
  double accuracy = 0;        // on the test images
  std::uint64_t samples = 0;  // of all ranks
  double seconds = 0;         // training alone
  bool is_whole = true;       // else it was stopped at a step's border; the numbers are of no use then
};

// A step as one rank sees it.
struct StepReport {
  std::uint64_t step = 0;     // from 1, through all epochs
  std::uint32_t samples = 0;  // of this rank
  double seconds = 0;
  double waited = 0;  // of them, for the other ranks' gradients after the backward pass
  double loss = 0;    // mean of this rank's samples, before the step
};

// What is wrong where the loss is no number any more.
Error divergence_after(const Position& position);

class Trainer {
 public:
  // All ranks together: they compare their settings and data, take rank 0's initial parameters and check that
  // they have the same. The references must live longer. Errors: conflict (ranks that differ are named),
  // invalid, no_space, and those of the transport.
  static Result<std::unique_ptr<Trainer>> create(Device& device, Transport& transport, const DataSet& data,
                                                 const TrainSettings& settings);

  // Called after each step. Costs a copy from the device and a wait for it.
  void on_step(std::function<void(const StepReport&)> call) { on_step_ = std::move(call); }
  // Between two steps; whether to go on, the same on all ranks.
  using Border = std::function<Result<bool>()>;

  // Whether a loss was no number any more, over an epoch, its test or at checkpoint(); the same on all ranks.
  bool has_diverged() const { return has_diverged_; }

  // One pass over the data, or what is left of it after resume(); then over the test images. The epoch counts
  // from 1. Errors: those of the transport and of `border`.
  Result<EpochReport> train(std::uint32_t epoch, const Border& border = {});
  bool is_finished() const { return settings_.most_steps > 0 && position_.steps >= settings_.most_steps; }

  // The epoch counts on at its end. All ranks are at the same place.
  const Position& position() const { return position_; }
  // All ranks together, between two steps. Only rank 0's has arrays in it. Errors: invalid (the training has
  // diverged: nobody would go on from there), those of the transport.
  Result<Checkpoint> checkpoint();
  // Goes on from rank 0's checkpoint, where it has one; all ranks together, before the first step. Returns
  // whether there was one. Errors: conflict (it is of another run), those of the transport.
  Result<bool> resume(const Checkpoint* checkpoint);

  // sha256 of the parameters' bytes; all ranks together, they must be the same on all. Errors: conflict.
  Result<std::string> agreed_weights();

  struct Weights {
    std::vector<Parameter> parameters;
    std::vector<float> values;
  };
  Result<Weights> weights();
  // Numbers of the samples this rank has trained on, in order.
  const std::vector<std::uint32_t>& seen() const { return seen_; }
  // The gradient of the last step, added up over all ranks.
  Result<std::vector<float>> gradient();

  const Identity& identity() const { return identity_; }
  const std::vector<LayerPlan>& layers() const { return layers_; }
  const Model& model() const { return *model_; }
  // In which gradients are exchanged; with virtual shards they are exchanged as a whole.
  std::size_t buckets() const { return reducer_ ? reducer_->buckets().size() : 1; }

 private:
  Trainer(Device& device, Transport& transport, const DataSet& data, const TrainSettings& settings);
  Result<void> prepare();
  Result<void> allocate();
  Result<void> prepare_reduction();
  Result<void> begin_values();
  Result<void> agree_on_settings();
  // All ranks together: whether the text is the same on all.
  Result<void> agree(const std::string& text, const std::string& what);

  // Virtual shards of all ranks, or the ranks where there are none.
  std::uint32_t shards() const { return settings_.shards > 0 ? settings_.shards : transport_.size(); }
  std::vector<Order> shards_of(std::uint32_t epoch) const;
  Result<const LoadedImages*> next(Loader& loader);
  // The first rows of the model's inputs and labels.
  Result<void> put(const LoadedImages& images);
  Result<void> work_on(const Portion& portion, const LoadedImages& images, float scale);
  Result<void> end_step(std::uint64_t samples);
  Result<void> tell_step(std::size_t rows, double seconds, double waited);
  Result<void> evaluate(EpochReport& report);
  // totals_ of all ranks, and zero again.
  Result<std::vector<double>> take_totals();
  template <class T>
  Result<std::vector<T>> to_host(Array array);
  // All that steps change, and what it is called in a checkpoint.
  struct NamedArray {
    std::string name;
    std::vector<std::size_t> shape;
    Array array;
  };
  std::vector<NamedArray> state();
  // After a change of totals_ that no step has made.
  Result<void> note_totals();
  Result<void> agree_on_position(bool& has_one);

  Device& device_;
  Transport& transport_;
  const DataSet& data_;
  const TrainSettings settings_;
  const Sampler sampler_;  // whose ranks are the shards
  std::vector<LayerPlan> layers_;
  Identity identity_;
  Stream stream_;
  Event copied_;  // the last images, from where the loader had them
  std::unique_ptr<Model> model_;
  std::optional<Optimizer> optimizer_;
  std::unique_ptr<Reducer> reducer_;  // one of the two
  std::optional<ShardSum> shard_sum_;
  Memory bytes_;  // of a batch's images
  Memory totals_;
  std::vector<std::uint32_t> seen_;
  std::function<void(const StepReport&)> on_step_;
  double told_loss_ = 0;  // of totals_, that steps have told
  Position position_;
  bool has_diverged_ = false;
  double step_began_ = 0;
};

}  // namespace pinstep::worker
