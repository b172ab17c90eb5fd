#include "launcher/worker/bench/step.h"

#include <algorithm>
#include <chrono>
#include <limits>

#include "launcher/worker/bench/exchange.h"
#include "launcher/worker/model/network.h"
#include "launcher/worker/try.h"
#include "launcher/worker/words.h"

namespace pinstep::worker {
namespace {

constexpr std::uint32_t kPairs = 15;
constexpr double kSideSeconds = 1.0;  // of each side of a comparison, in all
constexpr BucketSizes kSingle{std::numeric_limits<std::size_t>::max(), std::numeric_limits<std::size_t>::max()};

// Steps in one turn, so that all turns of a side make up their time; the same on all ranks.
Result<std::uint32_t> steps_per_turn(Device& device, Transport& transport, Step& step) {
  PINSTEP_TRY(step.run());  // cold
  const auto one = step.run();
  if (!one) return tl::unexpected(one.error());
  const auto longest = reduced(device, transport, one->seconds, Reduction::maximum);
  if (!longest) return tl::unexpected(longest.error());
  return static_cast<std::uint32_t>(std::clamp(kSideSeconds / kPairs / std::max(*longest, 1e-6), 1.0, 1000.0));
}

// Seconds of a step, the mean of a turn.
Result<double> turn(Step& step, BucketSizes sizes, std::uint32_t steps) {
  PINSTEP_TRY(step.use(sizes));
  double sum = 0;
  for (std::uint32_t i = 0; i < steps; ++i) {
    const auto time = step.run();
    if (!time) return tl::unexpected(time.error());
    sum += time->seconds;
  }
  return sum / steps;
}

Interval of_ratios(const std::vector<double>& above, const std::vector<double>& below) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < above.size(); ++i) ratios.push_back(above[i] / below[i]);
  return median_interval(std::move(ratios)).value_or(Interval{});
}

}  // namespace

Step::~Step() {
  reducer_.reset();
  device_.destroy(stream_);
}

Result<std::unique_ptr<Step>> Step::create(Device& device, Transport& transport, const StepSettings& settings) {
  std::unique_ptr<Step> step(new Step(device, transport, settings));
  PINSTEP_TRY(step->begin());
  PINSTEP_TRY(step->use({}));
  return step;
}

Result<void> Step::begin() {
  const auto stream = device_.create_stream();
  if (!stream) return tl::unexpected(stream.error());
  stream_ = *stream;
  auto model = Network::create(device_, stream_, linear_layers(settings_.sizes), settings_.batch);
  if (!model) return tl::unexpected(model.error());
  model_ = std::move(*model);
  auto totals = Memory::allocate(device_, 2, Type::f64);
  if (!totals) return tl::unexpected(totals.error());
  totals_ = std::move(*totals);
  PINSTEP_TRY(device_.zero(stream_, totals_.array()));
  const auto values = initial_values(model_->parameters(), 1);
  PINSTEP_TRY(device_.copy(stream_, model_->values().data, values.data(), model_->values().bytes(),
                           Direction::to_device));
  std::vector<float> inputs(model_->inputs().count);
  for (std::size_t i = 0; i < inputs.size(); ++i)
    inputs[i] = static_cast<float>(i * 2654435761U % 1000) / 500 - 1;
  PINSTEP_TRY(device_.copy(stream_, model_->inputs().data, inputs.data(), model_->inputs().bytes(),
                           Direction::to_device));
  std::vector<std::uint8_t> labels(model_->labels().count);
  for (std::size_t i = 0; i < labels.size(); ++i)
    labels[i] = static_cast<std::uint8_t>(i % settings_.sizes.back());
  PINSTEP_TRY(device_.copy(stream_, model_->labels().data, labels.data(), labels.size(), Direction::to_device));
  return device_.synchronize(stream_);
}

Result<void> Step::use(BucketSizes sizes) {
  std::vector<std::size_t> counts;
  for (const Parameter& parameter : model_->parameters()) counts.push_back(parameter.count);
  auto buckets = plan_buckets(counts, sizes);
  if (reducer_ && reducer_->buckets() == buckets) return {};
  reducer_.reset();
  auto reducer = Reducer::create(device_, transport_, model_->gradients(), std::move(buckets), stream_);
  if (!reducer) return tl::unexpected(reducer.error());
  reducer_ = std::move(*reducer);
  return {};
}

Result<StepTime> Step::run() {
  const double began = seconds_now();
  const float scale = 1 / (static_cast<float>(settings_.batch) * static_cast<float>(transport_.size()));
  PINSTEP_TRY(model_->forward(settings_.batch, scale, totals_.array()));
  PINSTEP_TRY(model_->backward(settings_.batch, Gradients::replace,
                               [this](std::size_t parameter) { return reducer_->ready(parameter); }));
  const double computed = seconds_now();
  PINSTEP_TRY(reducer_->finish());
  PINSTEP_TRY(device_.synchronize(stream_));
  const double ended = seconds_now();
  return StepTime{ended - began, ended - computed};
}

Result<double> Step::reduce_only() {
  const double began = seconds_now();
  PINSTEP_TRY(transport_.all_reduce(model_->gradients(), Reduction::sum, stream_));
  PINSTEP_TRY(device_.synchronize(stream_));
  return seconds_now() - began;
}

Result<Overlap> measure_overlap(Device& device, Transport& transport, const StepSettings& settings) {
  auto step = Step::create(device, transport, settings);
  if (!step) return tl::unexpected(step.error());
  const auto steps = steps_per_turn(device, transport, **step);
  if (!steps) return tl::unexpected(steps.error());
  Overlap found;
  found.ranks = transport.size();
  found.gradient_bytes = (*step)->gradient_bytes();
  found.buckets = (*step)->buckets();
  std::vector<double> single, overlapped, again, reduce;
  for (std::uint32_t pair = 0; pair < kPairs; ++pair) {
    for (const auto& [sizes, times] :
         {std::pair{kSingle, &single}, std::pair{BucketSizes{}, &overlapped}, std::pair{kSingle, &again}}) {
      const auto seconds = turn(**step, sizes, *steps);
      if (!seconds) return tl::unexpected(seconds.error());
      times->push_back(*seconds);
    }
    const auto seconds = (*step)->reduce_only();
    if (!seconds) return tl::unexpected(seconds.error());
    reduce.push_back(*seconds);
  }
  found.single_seconds = median(single);
  found.overlapped_seconds = median(overlapped);
  found.reduce_seconds = median(reduce);
  found.ratio = of_ratios(overlapped, single);
  found.noise = of_ratios(again, single);
  return found;
}

Result<Scaling> measure_scaling(Device& device, Transport& transport, const StepSettings& settings) {
  auto step = Step::create(device, transport, settings);
  if (!step) return tl::unexpected(step.error());
  const auto turn = steps_per_turn(device, transport, **step);
  if (!turn) return tl::unexpected(turn.error());
  std::vector<double> seconds, waited;
  for (std::uint32_t i = 0; i < *turn * kPairs; ++i) {
    const auto time = (*step)->run();
    if (!time) return tl::unexpected(time.error());
    seconds.push_back(time->seconds);
    waited.push_back(time->waited);
  }
  const double median_step = median(seconds);
  return Scaling{transport.size(), median_step, median(waited),
                 settings.batch * static_cast<double>(transport.size()) / median_step};
}

}  // namespace pinstep::worker
