#include "launcher/worker/train/trainer.h"

#include <algorithm>
#include <array>
#include <chrono>

#include "envtools/hash/hash.h"
#include "launcher/worker/device/kernels.h"
#include "launcher/worker/model/mlp.h"
#include "launcher/worker/train/save.h"
#include "launcher/worker/try.h"
#include "launcher/worker/words.h"

namespace pinstep::worker {
namespace {

constexpr std::uint32_t kEvaluationRows = 250;
constexpr std::size_t kDigest = 64;  // hex digits

std::vector<std::size_t> counts(const std::vector<Parameter>& parameters) {
  std::vector<std::size_t> counts;
  for (const Parameter& parameter : parameters) counts.push_back(parameter.count);
  return counts;
}

std::string_view bytes(const std::vector<float>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float)};
}

// All that must be the same on all ranks for the steps to be the same.
std::string settings_text(const TrainSettings& s, const DataSet& data, const std::vector<Bucket>& buckets) {
  std::string text;
  const auto add = [&](auto value) { text += std::to_string(value) + " "; };
  add(s.epochs), add(s.batch), add(s.rate), add(s.momentum), add(s.decay), add(s.seed), add(s.most_steps);
  for (const std::uint32_t units : s.hidden) add(units);
  for (const Bucket& bucket : buckets) add(bucket.offset), add(bucket.count);
  return text + sha256_hex(data.train.values) + sha256_hex(data.train.labels) + sha256_hex(data.test.values) +
         sha256_hex(data.test.labels);
}

std::string list(const std::vector<std::size_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

}  // namespace

Trainer::Trainer(Device& device, Transport& transport, const DataSet& data, const TrainSettings& settings)
    : device_(device),
      transport_(transport),
      data_(data),
      settings_(settings),
      sampler_{data.train.count, transport.size(), settings.seed, Tail::repeat} {}

Result<std::unique_ptr<Trainer>> Trainer::create(Device& device, Transport& transport, const DataSet& data,
                                                 const TrainSettings& settings) {
  std::unique_ptr<Trainer> trainer(new Trainer(device, transport, data, settings));
  PINSTEP_TRY(trainer->prepare());
  return trainer;
}

std::vector<std::uint32_t> Trainer::sizes() const {
  std::vector<std::uint32_t> sizes{data_.train.pixels};
  sizes.insert(sizes.end(), settings_.hidden.begin(), settings_.hidden.end());
  sizes.push_back(data_.train.classes);
  return sizes;
}

Result<void> Trainer::prepare() {
  const auto stream = device_.create_stream();
  if (!stream) return tl::unexpected(stream.error());
  stream_ = *stream;
  const std::uint32_t rows = std::max(settings_.batch, kEvaluationRows);
  auto mlp = Mlp::create(device_, stream_, sizes(), rows);
  if (!mlp) return tl::unexpected(mlp.error());
  model_ = std::move(*mlp);
  const auto make = [this](Memory& memory, std::size_t count, Type type) -> Result<void> {
    auto made = Memory::allocate(device_, count, type);
    if (!made) return tl::unexpected(made.error());
    memory = std::move(*made);
    return device_.zero(stream_, memory.array());
  };
  PINSTEP_TRY(make(index_, rows, Type::i32));
  PINSTEP_TRY(make(totals_, 2, Type::f64));
  PINSTEP_TRY(make(velocity_, model_->values().count, Type::f32));
  PINSTEP_TRY(upload(data_.train, train_));
  PINSTEP_TRY(upload(data_.test, test_));
  auto buckets = plan_buckets(counts(model_->parameters()), settings_.buckets);
  PINSTEP_TRY(agree(settings_text(settings_, data_, buckets), "other settings or data"));
  auto reducer = Reducer::create(device_, transport_, model_->gradients(), std::move(buckets), stream_);
  if (!reducer) return tl::unexpected(reducer.error());
  reducer_ = std::move(*reducer);
  return begin_values();
}

Result<void> Trainer::upload(const Images& images, DeviceImages& to) {
  for (auto [memory, text] : {std::pair{&to.values, &images.values}, std::pair{&to.labels, &images.labels}}) {
    auto made = Memory::allocate(device_, text->size(), Type::u8);
    if (!made) return tl::unexpected(made.error());
    *memory = std::move(*made);
    PINSTEP_TRY(device_.copy(stream_, memory->array().data, text->data(), text->size(), Direction::to_device));
  }
  return device_.synchronize(stream_);
}

Result<void> Trainer::begin_values() {
  const Array values = model_->values();
  if (transport_.rank() == 0) {
    const auto initial = initial_values(model_->parameters(), settings_.seed);
    PINSTEP_TRY(device_.copy(stream_, values.data, initial.data(), values.bytes(), Direction::to_device));
    PINSTEP_TRY(device_.synchronize(stream_));
  }
  PINSTEP_TRY(transport_.broadcast(values, 0, stream_));
  const auto agreed = agreed_weights();
  if (!agreed) return tl::unexpected(agreed.error());
  return {};
}

template <class T>
Result<std::vector<T>> Trainer::to_host(Array array) {
  std::vector<T> host(array.bytes() / sizeof(T));
  PINSTEP_TRY(device_.copy(stream_, host.data(), array.data, array.bytes(), Direction::to_host));
  PINSTEP_TRY(device_.synchronize(stream_));
  return host;
}

Result<void> Trainer::agree(const std::string& text, const std::string& what) {
  const std::string digest = sha256_hex(text);
  auto mine = Memory::allocate(device_, kDigest, Type::u8);
  if (!mine) return tl::unexpected(mine.error());
  auto all = Memory::allocate(device_, kDigest * transport_.size(), Type::u8);
  if (!all) return tl::unexpected(all.error());
  PINSTEP_TRY(device_.copy(stream_, mine->array().data, digest.data(), kDigest, Direction::to_device));
  PINSTEP_TRY(transport_.all_gather(mine->array(), all->array(), stream_));
  const auto digests = to_host<char>(all->array());
  if (!digests) return tl::unexpected(digests.error());
  const auto of = [&](std::size_t rank) { return std::string_view(digests->data() + rank * kDigest, kDigest); };
  std::vector<std::size_t> others;
  for (std::size_t rank = 1; rank < transport_.size(); ++rank)
    if (of(rank) != of(0)) others.push_back(rank);
  if (others.empty()) return {};
  return fail(ErrorKind::conflict,
              list(others) + (others.size() == 1 ? " has " : " have ") + what + " than rank 0");
}

Result<std::string> Trainer::agreed_weights() {
  const auto values = to_host<float>(model_->values());
  if (!values) return tl::unexpected(values.error());
  const std::string digest = sha256_hex(bytes(*values));
  PINSTEP_TRY(agree(digest, "other weights"));
  return digest;
}

Result<Trainer::Weights> Trainer::weights() {
  auto values = to_host<float>(model_->values());
  if (!values) return tl::unexpected(values.error());
  return Weights{model_->parameters(), std::move(*values)};
}

Result<std::vector<float>> Trainer::gradient() { return to_host<float>(model_->gradients()); }

Result<void> Trainer::load(const DeviceImages& images, std::span<const std::uint32_t> index) {
  // The last batch's numbers may still be on their way.
  PINSTEP_TRY(device_.synchronize(stream_));
  host_index_.assign(index.begin(), index.end());
  const Array numbers = index_.array().part(0, index.size());
  PINSTEP_TRY(device_.copy(stream_, numbers.data, host_index_.data(), numbers.bytes(), Direction::to_device));
  const std::array<Argument, 8> arguments{
      Read{images.values.array()}, Read{images.labels.array()}, Read{numbers}, Write{model_->inputs()},
      Write{model_->labels()},     data_.train.pixels,          kMeanGrey,     1 / kDeviationGrey};
  return device_.launch(stream_, kernel::kGather, index.size(), arguments);
}

Result<void> Trainer::step(std::span<const std::uint32_t> index) {
  const double began = seconds_now();
  PINSTEP_TRY(load(train_, index));
  // By samples, not by ranks. All ranks have equally many in a step, the last of an epoch included.
  const float scale = 1 / (static_cast<float>(index.size()) * static_cast<float>(transport_.size()));
  PINSTEP_TRY(model_->forward(index.size(), scale, totals_.array()));
  PINSTEP_TRY(
      model_->backward(index.size(), [this](std::size_t parameter) { return reducer_->ready(parameter); }));
  const double computed = seconds_now();
  PINSTEP_TRY(reducer_->finish());
  const double reduced = seconds_now();
  const Array values = model_->values();
  const std::array<Argument, 6> arguments{Update{values}, Read{model_->gradients()}, Update{velocity_.array()},
                                          settings_.rate, settings_.momentum,        settings_.decay};
  PINSTEP_TRY(device_.launch(stream_, kernel::kSgd, values.count, arguments));
  seen_.insert(seen_.end(), index.begin(), index.end());
  ++position_.steps;
  position_.consumed += index.size() * transport_.size();
  return on_step_ ? tell_step(index.size(), seconds_now() - began, reduced - computed) : Result<void>();
}

Result<void> Trainer::tell_step(std::size_t rows, double seconds, double waited) {
  const auto totals = to_host<double>(totals_.array());
  if (!totals) return tl::unexpected(totals.error());
  const double loss = ((*totals)[0] - told_loss_) / static_cast<double>(rows);
  told_loss_ = (*totals)[0];
  on_step_({position_.steps, static_cast<std::uint32_t>(rows), seconds, waited, loss});
  return {};
}

Result<std::vector<double>> Trainer::take_totals() {
  PINSTEP_TRY(transport_.all_reduce(totals_.array(), Reduction::sum, stream_));
  auto totals = to_host<double>(totals_.array());
  PINSTEP_TRY(device_.zero(stream_, totals_.array()));
  told_loss_ = 0;
  return totals;
}

Result<EpochReport> Trainer::train(std::uint32_t epoch, const Border& border) {
  if (position_.epoch != epoch) position_ = {epoch, 0, position_.steps};
  EpochReport report;
  report.epoch = epoch;
  const auto began = std::chrono::steady_clock::now();
  const auto mine = sampler_.indices(epoch, transport_.rank(), position_.consumed);
  std::span<const std::uint32_t> left = mine;
  for (; !left.empty() && !is_finished(); ++report.steps) {
    const std::size_t rows = std::min<std::size_t>(left.size(), settings_.batch);
    PINSTEP_TRY(step(left.first(rows)));
    report.samples += rows * transport_.size();
    left = left.subspan(rows);
    if (!border) continue;
    const auto goes_on = border();
    if (!goes_on) return tl::unexpected(goes_on.error());
    report.is_whole = *goes_on;
    if (!report.is_whole) return report;
  }
  const auto totals = take_totals();
  if (!totals) return tl::unexpected(totals.error());
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  // They are of the whole epoch, the part before resume() included.
  const auto counted = static_cast<double>(std::max<std::uint64_t>(position_.consumed, 1));
  report.loss = (*totals)[0] / counted;
  report.train_accuracy = (*totals)[1] / counted;
  PINSTEP_TRY(evaluate(report));
  if (left.empty()) {
    position_ = {epoch + 1, 0, position_.steps};
  } else if (transport_.rank() == 0) {  // the epoch is not over: a run that goes on here counts on
    PINSTEP_TRY(device_.copy(stream_, totals_.array().data, totals->data(), totals_.array().bytes(),
                             Direction::to_device));
    PINSTEP_TRY(device_.synchronize(stream_));
  }
  return report;
}

Result<void> Trainer::evaluate(EpochReport& report) {
  const auto mine = evaluation_indices(data_.test.count, transport_.size(), transport_.rank());
  std::span<const std::uint32_t> left = mine;
  while (!left.empty()) {
    const std::size_t rows = std::min<std::size_t>(left.size(), kEvaluationRows);
    PINSTEP_TRY(load(test_, left.first(rows)));
    PINSTEP_TRY(model_->forward(rows, 0, totals_.array()));
    left = left.subspan(rows);
  }
  const auto totals = take_totals();
  if (!totals) return tl::unexpected(totals.error());
  report.test_loss = (*totals)[0] / data_.test.count;
  report.accuracy = (*totals)[1] / data_.test.count;
  return {};
}

std::vector<Trainer::NamedArray> Trainer::state() {
  std::vector<NamedArray> state;
  for (const auto& [prefix, all] : {std::pair{"", model_->values()}, std::pair{"momentum.", velocity_.array()}})
    for (const Parameter& parameter : model_->parameters())
      state.push_back({prefix + parameter.name, parameter.shape, all.part(parameter.offset, parameter.count)});
  state.push_back({"totals", {totals_.array().count}, totals_.array()});
  return state;
}

// Batch and learning rate are not in it: who goes on with another number of ranks may want to change them.
std::map<std::string, std::string> Trainer::identity() const {
  std::string model = "mlp";
  for (const std::uint32_t size : sizes()) model += " " + std::to_string(size);
  return {{"model", model},
          {"seed", std::to_string(settings_.seed)},
          {"data", sha256_hex(sha256_hex(data_.train.values) + sha256_hex(data_.train.labels))}};
}

Result<Checkpoint> Trainer::checkpoint() {
  Checkpoint checkpoint{position_, transport_.size(), identity(), {}, {}};
  // What this epoch has counted so far is each rank's own: rank 0 takes it over.
  PINSTEP_TRY(transport_.all_reduce(totals_.array(), Reduction::sum, stream_));
  if (transport_.rank() != 0) PINSTEP_TRY(device_.zero(stream_, totals_.array()));
  PINSTEP_TRY(note_totals());
  if (transport_.rank() != 0) return checkpoint;
  for (const NamedArray& named : state()) {
    const auto bytes = to_host<char>(named.array);
    if (!bytes) return tl::unexpected(bytes.error());
    checkpoint.add(named.name, named.array.type, named.shape, {bytes->data(), bytes->size()});
  }
  return checkpoint;
}

Result<bool> Trainer::resume(const Checkpoint* checkpoint) {
  bool has_one = checkpoint != nullptr;
  if (has_one) {
    const auto mine = identity();
    for (const auto& [name, value] : mine)
      if (const auto found = checkpoint->settings.find(name);
          found == checkpoint->settings.end() || found->second != value)
        return fail(ErrorKind::conflict, "the checkpoint is of a run with another " + name,
                    "give what that run was given, or another directory");
    position_ = checkpoint->position;
  }
  PINSTEP_TRY(agree_on_position(has_one));
  if (!has_one) return false;
  for (const NamedArray& named : state()) {
    if (checkpoint != nullptr) {
      const SavedArray* saved = checkpoint->find(named.name);
      if (saved == nullptr || saved->type != named.array.type || saved->bytes != named.array.bytes())
        return fail(ErrorKind::conflict, "the checkpoint has no '" + named.name + "' that fits",
                    "give what that run was given, or another directory");
      PINSTEP_TRY(device_.copy(stream_, named.array.data, checkpoint->bytes_of(*saved).data(), saved->bytes,
                               Direction::to_device));
      PINSTEP_TRY(device_.synchronize(stream_));
    }
    PINSTEP_TRY(transport_.broadcast(named.array, 0, stream_));
  }
  if (transport_.rank() != 0) PINSTEP_TRY(device_.zero(stream_, totals_.array()));
  PINSTEP_TRY(note_totals());
  const auto agreed = agreed_weights();
  if (!agreed) return tl::unexpected(agreed.error());
  return true;
}

Result<void> Trainer::note_totals() {
  const auto totals = to_host<double>(totals_.array());
  if (!totals) return tl::unexpected(totals.error());
  told_loss_ = (*totals)[0];
  return {};
}

Result<void> Trainer::agree_on_position(bool& has_one) {
  auto told = Memory::allocate(device_, 4, Type::i64);
  if (!told) return tl::unexpected(told.error());
  const Array array = told->array();
  const std::array<std::uint64_t, 4> mine{has_one ? 1U : 0U, position_.epoch, position_.consumed,
                                          position_.steps};
  PINSTEP_TRY(device_.copy(stream_, array.data, mine.data(), array.bytes(), Direction::to_device));
  PINSTEP_TRY(transport_.broadcast(array, 0, stream_));
  const auto all = to_host<std::uint64_t>(array);
  if (!all) return tl::unexpected(all.error());
  has_one = (*all)[0] == 1;
  position_ = {static_cast<std::uint32_t>((*all)[1]), (*all)[2], (*all)[3]};
  return {};
}

}  // namespace pinstep::worker
