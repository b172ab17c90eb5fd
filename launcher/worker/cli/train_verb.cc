#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "launcher/worker/cli/in_session.h"
#include "launcher/worker/cli/train_events.h"
#include "launcher/worker/cli/verbs.h"
#include "launcher/worker/train/keeper.h"
#include "launcher/worker/train/requeue.h"
#include "launcher/worker/train/save.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {
namespace {

Result<DataSet> read_data(const TrainOptions& options) {
  auto data = read_data_set(options.data);
  if (!data) return data;
  if (options.images > 0) data->train.shorten(options.images);
  if (options.test_images > 0) data->test.shorten(options.test_images);
  return data;
}

// What is saved is also saved where the ranks then disagree: to be looked at.
Result<void> finish(Session& session, Trainer& trainer, const TrainOptions& options, double accuracy,
                    TrainEvents& events) {
  if (!options.save.empty()) {
    auto weights = trainer.weights();
    if (!weights) return tl::unexpected(weights.error());
    PINSTEP_TRY(save(options.save, {session.place().rank, trainer.sizes(), std::move(weights->parameters),
                                    std::move(weights->values), trainer.seen(), accuracy}));
  }
  const auto digest = trainer.agreed_weights();
  if (!digest) return tl::unexpected(digest.error());
  events.end(*digest, options.save);
  return {};
}

// What there is to say before the first step.
Start start_of(Session& session, CpuDevice& device, const Trainer& trainer, unsigned threads,
               const DataSet& data) {
  const auto restart =
      parse_number<std::uint64_t>(process_environment().get("SLURM_RESTART_COUNT").value_or(""));
  return Start{
      session.place().size, std::string(session.transport_name()), std::string(device.name()), threads,
      trainer.sizes(),      count(trainer.model().parameters()),   trainer.buckets(),          data.train.count,
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
  const unsigned threads = use_threads(device, session.place());
  const auto data = read_data(options);
  if (!data) return tl::unexpected(data.error());
  auto trainer = Trainer::create(device, session.transport(), *data, options.train);
  if (!trainer) return tl::unexpected(trainer.error());
  PINSTEP_TRY(events.begin(session.place(), host_name(), start_of(session, device, **trainer, threads, *data)));
  if (events.wants_steps()) (*trainer)->on_step([&events](const StepReport& report) { events.step(report); });
  const auto keeper = resume(session, device, **trainer, options, events);
  if (!keeper) return tl::unexpected(keeper.error());
  const auto accuracy = train_epochs(**trainer, keeper->get(), options.train.epochs, events);
  if (!accuracy) return tl::unexpected(accuracy.error());
  PINSTEP_TRY(finish(session, **trainer, options, *accuracy, events));
  if (!*keeper || (*keeper)->stopped_by() == 0) return {};
  session.set_outcome(Outcome::stopped);
  const bool requeues = options.requeue && session.place().rank == 0;
  return requeues ? requeue_job(process_environment()) : Result<void>();
}

}  // namespace

Error train_verb(const std::vector<std::string>& words) {
  const auto options = parse_train_options(words);
  if (!options) return options.error();
  const Form form = options->json ? Form::json : Form::text;
  TrainEvents events(*options, form);
  SessionSettings session = options->session;
  session.log = options->log;
  run_in_session(
      session, form,
      [&](Session& session, CpuDevice& device) { return train(session, device, *options, events); },
      [&](const Ending& ending) { events.failed(ending); });
}

}  // namespace pinstep::worker
