#include <unistd.h>

#include <csignal>

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
  settings.is_kept = !options.keep.directory.empty();
  settings.kept_every = options.keep.every;
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
                     {session.place().rank, session.place().size, std::string(name(options.train.model.kind)),
                      trainer.layers(), std::move(weights->parameters), std::move(weights->values),
                      trainer.seen(), accuracy}));
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
  if (keeper != nullptr) {  // a signal may have come before the first step
    const auto goes_on = keeper->at_border();
    if (!goes_on) return tl::unexpected(goes_on.error());
    if (!*goes_on) return accuracy;
  }
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
  if (!options.save.empty()) PINSTEP_TRY(prepare_save(options.save, session.place().rank));
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

// Of a rank that was stopped before all had come. Rank 0 has no others to ask.
void requeue_before_the_first_step(const TrainOptions& options, Ending& ending, const Place& place) {
  if (!options.requeue || place.rank != 0) return;
  const auto requeued = requeue_job(process_environment());
  if (requeued) return;
  ending = {Outcome::failed, requeued.error(), {}, true};
  write_message(STDERR_FILENO, lines_of(ending, Form::text));
}

// From the first moment on: a job's time may be over before its ranks have met.
void note_signals_of(const KeepSettings& keep) {
  std::vector<int> signals{SIGTERM};
  if (keep.signal) signals.push_back(*keep.signal);
  note_signals(signals);
}

std::string name_of_this_run() {
  const std::string job = cookie_of(process_environment());
  return (job.empty() ? "" : "job " + job + ", ") + "process " + std::to_string(::getpid()) + " on " +
         host_name();
}

}  // namespace

Error train_verb(const std::vector<std::string>& words) {
  auto options = parse_train_options(words);
  if (!options) return options.error();
  if (options->train.model.kind == ModelSpec::Kind::cnn && !CpuConvolutions::are_there())
    return fail(ErrorKind::usage, "this pinstep-worker was built without oneDNN, which computes the cnn",
                "--model=mlp, or build it with libdnnl-dev")
        .value();
  const Form form = options->json ? Form::json : Form::text;
  TrainEvents events(*options, form);
  SessionSettings session = options->session;
  session.log = options->log;
  if (!options->keep.directory.empty()) {
    note_signals_of(options->keep);
    options->keep.who = name_of_this_run();
    session.told_to_stop = noted_signal;
  }
  run_in_session(
      session, form,
      [&](Session& session, CpuDevice& device) { return train(session, device, *options, events); },
      [&](Ending& ending, const Place& place) {
        events.failed(ending);
        if (ending.outcome == Outcome::stopped) requeue_before_the_first_step(*options, ending, place);
      });
}

}  // namespace pinstep::worker
