#include "launcher/worker/train/trainer.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cmath>
#include <map>
#include <utility>

#include "envtools/hash/hash.h"
#include "launcher/worker/device/kernels.h"
#include "launcher/worker/model/network.h"
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

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

// All that must be the same on all ranks: what decides the weights, and what decides when to meet. The same
// names on all ranks, whatever the settings.
NamedTexts agreement(const Identity& identity, const TrainSettings& settings, const DataSet& data) {
  std::map<std::string, std::string> known;
  for (const auto* part : {&identity.fixed, &identity.free}) known.insert(part->begin(), part->end());
  NamedTexts texts;
  for (const char* name :
       {"model", "data", "order", "seed", "optimizer", "lr", "weight-decay", "momentum", "betas", "batch",
        "accumulate", "drop-last", "virtual-shards", "bucket", "first-bucket"}) {
    texts.emplace_back(name, known[name]);
    known.erase(name);
  }
  for (const auto& [name, text] : known) texts.front().second += name + " " + text;  // one that is new
  texts.emplace_back("test data", sha256_hex(data.test.values) + sha256_hex(data.test.labels));
  texts.emplace_back("epochs", std::to_string(settings.epochs));
  texts.emplace_back("steps", std::to_string(settings.most_steps));
  texts.emplace_back("checkpoint", settings.is_kept ? "yes" : "no");
  texts.emplace_back("checkpoint-steps", std::to_string(settings.kept_every));
  return texts;
}

std::vector<std::span<const std::uint32_t>> samples_of(const std::vector<Portion>& portions) {
  std::vector<std::span<const std::uint32_t>> samples;
  for (const Portion& portion : portions) samples.push_back(portion.samples);
  return samples;
}

std::string list(const std::vector<std::size_t>& ranks) {
  std::string text = ranks.size() == 1 ? "rank " : "ranks ";
  for (std::size_t i = 0; i < ranks.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(ranks[i]);
  return text;
}

}  // namespace

Error divergence_after(const Position& position) {
  return {ErrorKind::invalid,
          "the training diverged: the loss is not a number after step " + std::to_string(position.steps),
          "--lr takes a smaller learning rate"};
}

Trainer::Trainer(Device& device, Transport& transport, const DataSet& data, const TrainSettings& settings)
    : device_(device),
      transport_(transport),
      data_(data),
      settings_(settings),
      sampler_{data.train.count, shards(), settings.seed, settings.tail, settings.orders} {}

Result<std::unique_ptr<Trainer>> Trainer::create(Device& device, Transport& transport, const DataSet& data,
                                                 const TrainSettings& settings) {
  std::unique_ptr<Trainer> trainer(new Trainer(device, transport, data, settings));
  PINSTEP_TRY(trainer->prepare());
  return trainer;
}

Result<void> Trainer::prepare() {
  if (shards() % transport_.size() != 0)
    return fail(ErrorKind::conflict,
                std::to_string(shards()) + " virtual shards cannot be dealt evenly to " +
                    std::to_string(transport_.size()) + " ranks",
                "--virtual-shards takes a multiple of the number of ranks");
  if (sampler_.per_rank(0) == 0)
    return fail(ErrorKind::conflict,
                how_many(data_.train.count, "image") + " cannot be dealt to " + how_many(shards(), "rank") +
                    " with --drop-last: there is nothing to train on",
                "fewer ranks, more images, or no --drop-last");
  auto layers = plan_layers(settings_.model, {data_.train.rows, data_.train.columns, data_.train.classes});
  if (!layers) return tl::unexpected(layers.error());
  layers_ = std::move(*layers);
  identity_ = identity_of(settings_, layers_, data_);
  const auto stream = device_.create_stream();
  if (!stream) return tl::unexpected(stream.error());
  stream_ = *stream;
  const auto event = device_.create_event();
  if (!event) return tl::unexpected(event.error());
  copied_ = *event;
  PINSTEP_TRY(allocate());
  PINSTEP_TRY(prepare_reduction());
  return begin_values();
}

Result<void> Trainer::allocate() {
  const std::uint32_t rows = std::max(settings_.batch, kEvaluationRows);
  auto network = Network::create(device_, stream_, layers_, rows);
  if (!network) return tl::unexpected(network.error());
  model_ = std::move(*network);
  const auto make = [this](Memory& memory, std::size_t count, Type type) -> Result<void> {
    auto made = Memory::allocate(device_, count, type);
    if (!made) return tl::unexpected(made.error());
    memory = std::move(*made);
    return device_.zero(stream_, memory.array());
  };
  PINSTEP_TRY(make(bytes_, rows * data_.train.pixels(), Type::u8));
  PINSTEP_TRY(make(totals_, 2, Type::f64));
  auto optimizer = Optimizer::create(device_, stream_, settings_.optimizer, model_->values().count);
  if (!optimizer) return tl::unexpected(optimizer.error());
  optimizer_ = std::move(*optimizer);
  return {};
}

Result<void> Trainer::prepare_reduction() {
  auto buckets = plan_buckets(counts(model_->parameters()), settings_.buckets);
  PINSTEP_TRY(agree_on_settings());
  if (settings_.shards > 0) {
    auto sum = ShardSum::create(device_, transport_, model_->gradients(), settings_.shards, stream_);
    if (!sum) return tl::unexpected(sum.error());
    shard_sum_ = std::move(*sum);
    return {};
  }
  auto reducer = Reducer::create(device_, transport_, model_->gradients(), std::move(buckets), stream_);
  if (!reducer) return tl::unexpected(reducer.error());
  reducer_ = std::move(*reducer);
  return {};
}

// All at once, and only where they differ one by one, which all ranks notice together.
Result<void> Trainer::agree_on_settings() {
  const NamedTexts texts = agreement(identity_, settings_, data_);
  std::string all;
  for (const auto& [name, text] : texts) all += name + " " + text + "\n";
  auto agreed = agree(all, "other settings or data");
  if (agreed || agreed.error().kind != ErrorKind::conflict) return agreed;
  std::string differing;
  for (const auto& [name, text] : texts) {
    const auto same = agree(text, name);
    if (!same && same.error().kind != ErrorKind::conflict) return same;
    if (!same) differing += (differing.empty() ? ": " : ", ") + name;
  }
  return fail(ErrorKind::conflict, agreed.error().cause + differing, "give all ranks the same options");
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

std::vector<Order> Trainer::shards_of(std::uint32_t epoch) const {
  const std::uint32_t mine = shards() / transport_.size();
  std::vector<Order> orders;
  const Order order = sampler_.order(epoch);
  for (std::uint32_t shard = 0; shard < mine; ++shard)
    orders.push_back(deal(order, shards(), transport_.rank() * mine + shard,
                          sampler_.per_rank(position_.consumed), position_.consumed));
  return orders;
}

// The images given before are free for others then: they must have been copied.
Result<const LoadedImages*> Trainer::next(Loader& loader) {
  PINSTEP_TRY(device_.synchronize(copied_));
  return loader.next();
}

Result<void> Trainer::put(const LoadedImages& images) {
  const std::size_t rows = images.samples.size();
  PINSTEP_TRY(device_.copy(stream_, bytes_.array().data, images.values.data(), images.values.size(),
                           Direction::to_device));
  PINSTEP_TRY(device_.copy(stream_, model_->labels().data, images.labels.data(), rows, Direction::to_device));
  PINSTEP_TRY(device_.record(copied_, stream_));
  const std::array<Argument, 5> arguments{Read{bytes_.array()}, Write{model_->inputs()},
                                          static_cast<std::uint32_t>(data_.train.pixels()), kMeanGrey,
                                          1 / kDeviationGrey};
  return device_.launch(stream_, kernel::kNormalise, rows, arguments);
}

Result<void> Trainer::work_on(const Portion& portion, const LoadedImages& images, float scale) {
  PINSTEP_TRY(put(images));
  const std::size_t rows = images.samples.size();
  PINSTEP_TRY(model_->forward(rows, scale, totals_.array()));
  const auto ready = [&](std::size_t parameter) {
    return reducer_ && portion.ends_step ? reducer_->ready(parameter) : Result<void>();
  };
  PINSTEP_TRY(model_->backward(rows, portion.begins_shard ? Gradients::replace : Gradients::add, ready));
  if (shard_sum_ && portion.ends_shard) PINSTEP_TRY(shard_sum_->keep(portion.shard));
  seen_.insert(seen_.end(), portion.samples.begin(), portion.samples.end());
  return {};
}

Result<void> Trainer::end_step(std::uint64_t samples) {
  const double computed = seconds_now();
  PINSTEP_TRY(reducer_ ? reducer_->finish() : shard_sum_->finish());
  const double reduced = seconds_now();
  PINSTEP_TRY(optimizer_->step(++position_.steps, model_->values(), model_->gradients()));
  position_.consumed += samples;
  const double began = std::exchange(step_began_, seconds_now());
  return on_step_ ? tell_step(samples / transport_.size(), step_began_ - began, reduced - computed)
                  : Result<void>();
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
  const EpochSteps steps(shards_of(epoch), settings_.batch, settings_.accumulate);
  Loader loader(data_.train, samples_of(steps.portions()), settings_.loaders);
  step_began_ = seconds_now();
  for (const Portion& portion : steps.portions()) {
    if (is_finished()) break;
    // By samples, not by ranks: all shards have equally many in a step, the last of an epoch included.
    const std::uint64_t samples = std::uint64_t{steps.rows(report.steps)} * shards();
    const auto images = next(loader);
    if (!images) return tl::unexpected(images.error());
    PINSTEP_TRY(work_on(portion, **images, 1 / static_cast<float>(samples)));
    if (!portion.ends_step) continue;
    PINSTEP_TRY(end_step(samples));
    ++report.steps;
    report.samples += samples;
    if (!border) continue;
    const auto goes_on = border();
    if (!goes_on) return tl::unexpected(goes_on.error());
    report.is_whole = *goes_on;
    if (!report.is_whole) return report;
    step_began_ = seconds_now();
  }
  const auto totals = take_totals();
  if (!totals) return tl::unexpected(totals.error());
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  // They are of the whole epoch, the part before resume() included.
  const auto counted = static_cast<double>(std::max<std::uint64_t>(position_.consumed, 1));
  report.loss = (*totals)[0] / counted;
  report.train_accuracy = (*totals)[1] / counted;
  PINSTEP_TRY(evaluate(report));
  has_diverged_ = !std::isfinite(report.loss) || !std::isfinite(report.test_loss);
  if (report.steps == steps.steps()) {
    position_ = {epoch + 1, 0, position_.steps};
  } else if (transport_.rank() == 0) {  // the epoch is not over: a run that goes on here counts on
    PINSTEP_TRY(device_.copy(stream_, totals_.array().data, totals->data(), totals_.array().bytes(),
                             Direction::to_device));
    PINSTEP_TRY(device_.synchronize(stream_));
  }
  return report;
}

Result<void> Trainer::evaluate(EpochReport& report) {
  const EpochSteps batches({evaluation_indices(data_.test.count, transport_.size(), transport_.rank())},
                           kEvaluationRows, 1);
  Loader loader(data_.test, samples_of(batches.portions()), settings_.loaders);
  for (std::size_t i = 0; i < batches.portions().size(); ++i) {
    const auto images = next(loader);
    if (!images) return tl::unexpected(images.error());
    PINSTEP_TRY(put(**images));
    PINSTEP_TRY(model_->forward((*images)->samples.size(), 0, totals_.array()));
  }
  const auto totals = take_totals();
  if (!totals) return tl::unexpected(totals.error());
  report.test_loss = (*totals)[0] / data_.test.count;
  report.accuracy = (*totals)[1] / data_.test.count;
  return {};
}

std::vector<Trainer::NamedArray> Trainer::state() {
  std::vector<NamedArray> state;
  const auto add = [&](const std::string& prefix, Array all) {
    for (const Parameter& parameter : model_->parameters())
      state.push_back({prefix + parameter.name, parameter.shape, all.part(parameter.offset, parameter.count)});
  };
  add("", model_->values());
  for (const Optimizer::Moment& moment : optimizer_->moments())
    add(std::string(moment.name) + ".", moment.array);
  state.push_back({"totals", {totals_.array().count}, totals_.array()});
  return state;
}

Result<Checkpoint> Trainer::checkpoint() {
  Checkpoint checkpoint{position_, transport_.size(), identity_.fixed, {}, {}};
  checkpoint.settings.insert(identity_.free.begin(), identity_.free.end());
  // What this epoch has counted so far is each rank's own: rank 0 takes it over.
  PINSTEP_TRY(transport_.all_reduce(totals_.array(), Reduction::sum, stream_));
  PINSTEP_TRY(note_totals());
  has_diverged_ = !std::isfinite(told_loss_);
  if (has_diverged_) return tl::unexpected(divergence_after(position_));
  if (transport_.rank() != 0) {
    PINSTEP_TRY(device_.zero(stream_, totals_.array()));
    told_loss_ = 0;
    return checkpoint;
  }
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
    PINSTEP_TRY(check_same_run(identity_, *checkpoint));
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
