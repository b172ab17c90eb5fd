#include "launcher/worker/cli/in_session.h"
#include "launcher/worker/cli/train_events.h"
#include "launcher/worker/cli/verbs.h"
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

Result<void> train(Session& session, CpuDevice& device, const TrainOptions& options, TrainEvents& events) {
  const unsigned threads = use_threads(device, session.place());
  const auto data = read_data(options);
  if (!data) return tl::unexpected(data.error());
  auto trainer = Trainer::create(device, session.transport(), *data, options.train);
  if (!trainer) return tl::unexpected(trainer.error());
  PINSTEP_TRY(
      events.begin(session.place(), host_name(),
                   Start{session.place().size, std::string(session.transport_name()),
                         std::string(device.name()), threads, (*trainer)->sizes(),
                         count((*trainer)->model().parameters()), (*trainer)->buckets(), data->train.count}));
  if (events.wants_steps()) (*trainer)->on_step([&events](const StepReport& report) { events.step(report); });
  double accuracy = 0;
  for (std::uint32_t epoch = 1; epoch <= options.train.epochs && !(*trainer)->is_finished(); ++epoch) {
    events.epoch_begins(epoch);
    const auto report = (*trainer)->train(epoch);
    if (!report) return tl::unexpected(report.error());
    accuracy = report->accuracy;
    events.epoch(*report);
  }
  return finish(session, **trainer, options, accuracy, events);
}

}  // namespace

Error train_verb(const std::vector<std::string>& words) {
  const auto options = parse_train_options(words);
  if (!options) return options.error();
  const Form form = options->json ? Form::json : Form::text;
  TrainEvents events(*options, form);
  run_in_session(
      options->session, form,
      [&](Session& session, CpuDevice& device) { return train(session, device, *options, events); },
      [&](const Ending& ending) { events.failed(ending); });
}

}  // namespace pinstep::worker
