#include "envtools/base/fd.h"
#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "launcher/worker/cli/in_session.h"
#include "launcher/worker/cli/train_events.h"
#include "launcher/worker/cli/verbs.h"
#include "launcher/worker/train/interrupt.h"
#include "launcher/worker/train/keeper.h"
#include "launcher/worker/train/requeue.h"
#include "launcher/worker/train/save.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {
namespace {

constexpr std::uint32_t kSyntheticImages = 60'000, kSyntheticTestImages = 10'000;  // as Fashion-MNIST has

Result<DataSet> read_data(const TrainOptions& options) {
  if (options.data == "synthetic")
    return synthetic_data(options.images > 0 ? options.images : kSyntheticImages,
                          options.test_images > 0 ? options.test_images : kSyntheticTestImages,
                          options.train.seed);
  auto data = read_data_set(options.data);
  if (!data) return data;
  if (options.images > 0) data->train.shorten(options.images);
  if (options.test_images > 0) data->test.shorten(options.test_images);
  return data;
}

constexpr std::size_t kMostOrderBytes = std::size_t{1} << 30;

Result<TrainSettings> read_settings(const TrainOptions& options, const DataSet& data) {
  TrainSettings settings = options.train;
  if (options.order.empty()) return settings;
  const auto file = read_file(options.order, kMostOrderBytes, Links::followed);
  if (!file) return tl::unexpected(file.error());
  auto orders = parse_orders(file->text, data.train.count, options.order);
  if (!orders) return tl::unexpected(orders.error());
  settings.orders = std::move(*orders);
  return settings;
}

// What is saved is also saved where the ranks then disagree: to be looked at.
Result<void> finish(Session& session, Trainer& trainer, const TrainOptions& options, double accuracy,
                    TrainEvents& events) {
  if (!options.save.empty()) {
    auto weights = trainer.weights();
    if (!weights) return tl::unexpected(weights.error());
    PINSTEP_TRY(save(options.save,
                     {session.place().rank, std::string(name(options.train.model.kind)), trainer.layers(),
                      std::move(weights->parameters), std::move(weights->values), trainer.seen(), accuracy}));
  }
  const auto digest = trainer.agreed_weights();
  if (!digest) return tl::unexpected(digest.error());
  events.end(*digest, options.save);
  return {};
}

// What there is to say before the first step.
Start start_of(Session& session, CpuDevice& device, const Trainer& trainer, unsigned threads,
               const DataSet& data, const TrainSettings& settings) {
  const auto restart =
      parse_number<std::uint64_t>(process_environment().get("SLURM_RESTART_COUNT").value_or(""));
  return Start{session.place().size,
               std::string(session.transport_name()),
               std::string(device.name()),
               threads,
               std::string(name(settings.model.kind)),
               describe(trainer.layers()),
               std::string(name(settings.optimizer.kind)),
               settings.shards,
               count(trainer.model().parameters()),
               trainer.buckets(),
               data.train.count,
               restart.value_or(0)};
}

// Trains as far as it gets. The accuracy after the last epoch, or 0.
Result<double> train_epochs(Trainer& trainer, Keeper* keeper, std::uint32_t epochs, TrainEvents& events) {
  const Trainer::Border border =
      keeper != nullptr ? [keeper] { return keeper->at_border(); } : Trainer::Border();
  double accuracy = 0;
  for (std::uint32_t epoch = trainer.position().epoch; epoch <= epochs && !trainer.is_finished(); ++epoch) {
    events.epoch_begins(epoch);
    const auto report = trainer.train(epoch, border);
    if (!report) return tl::unexpected(report.error());
    if (!report->is_whole) break;
    accuracy = report->accuracy;
    events.epoch(*report);
    if (trainer.has_diverged()) return tl::unexpected(divergence_after(trainer.position()));
    if (keeper != nullptr) PINSTEP_TRY(keeper->keep());
  }
  return accuracy;
}

// The keeper, where checkpoints are wanted, after it has gone on from the newest.
Result<std::unique_ptr<Keeper>> resume(Session& session, CpuDevice& device, Trainer& trainer,
                                       const TrainOptions& options, TrainEvents& events) {
  if (options.keep.directory.empty()) return nullptr;
  auto keeper = Keeper::create(options.keep, device, session.transport(), trainer,
                               [&events](const Kept& kept) { events.kept(kept); });
  if (!keeper) return keeper;
  const auto resumed = (*keeper)->resume();
  if (!resumed) return tl::unexpected(resumed.error());
  if (*resumed) events.resumed(**resumed);
  return keeper;
}

Result<void> train(Session& session, CpuDevice& device, const TrainOptions& options, TrainEvents& events) {
  // With virtual shards the number of ranks must not matter, and by the number of threads it would.
  const unsigned threads = use_threads(device, session.place(), options.train.shards > 0 ? 1 : 0);
  const auto data = read_data(options);
  if (!data) return tl::unexpected(data.error());
  const auto settings = read_settings(options, *data);
  if (!settings) return tl::unexpected(settings.error());
  auto trainer = Trainer::create(device, session.transport(), *data, *settings);
  if (!trainer) return tl::unexpected(trainer.error());
  PINSTEP_TRY(events.begin(session.place(), host_name(),
                           start_of(session, device, **trainer, threads, *data, *settings)));
  if (events.wants_steps()) (*trainer)->on_step([&events](const StepReport& report) { events.step(report); });
  const auto keeper = resume(session, device, **trainer, options, events);
  if (!keeper) return tl::unexpected(keeper.error());
  const auto accuracy = train_epochs(**trainer, keeper->get(), options.train.epochs, events);
  if (!accuracy && (*trainer)->has_diverged()) {
    session.end_with(Outcome::failed, accuracy.error());
    return {};
  }
  if (!accuracy) return tl::unexpected(accuracy.error());
  PINSTEP_TRY(finish(session, **trainer, options, *accuracy, events));
  if (!*keeper || (*keeper)->stopped_by() == 0) return {};
  session.end_with(Outcome::stopped);
  const bool requeues = options.requeue && session.place().rank == 0;
  const auto queued = requeues ? requeue_job(process_environment()) : Result<void>();
  // No rank ends before: where a site has KillOnBadExit, that would end rank 0 in the middle of it.
  PINSTEP_TRY((*keeper)->meet());
  return queued;
}

}  // namespace

Error train_verb(const std::vector<std::string>& words) {
  const auto options = parse_train_options(words);
  if (!options) return options.error();
  if (options->train.model.kind == ModelSpec::Kind::cnn && !CpuConvolutions::are_there())
    return fail(ErrorKind::usage, "this pinstep-worker was built without oneDNN, which computes the cnn",
                "--model=mlp, or build it with libdnnl-dev")
        .value();
  const Form form = options->json ? Form::json : Form::text;
  // It may come while ranks are waited for or data is read, and would end this one with nothing queued again.
  // TERM is noted later, by the keeper: until there is something to keep it ends the rank at once.
  if (options->keep.signal) note_signals({*options->keep.signal});
  TrainEvents events(*options, form);
  SessionSettings session = options->session;
  session.log = options->log;
  run_in_session(
      session, form,
      [&](Session& session, CpuDevice& device) { return train(session, device, *options, events); },
      [&](const Ending& ending) { events.failed(ending); });
}

}  // namespace pinstep::worker
