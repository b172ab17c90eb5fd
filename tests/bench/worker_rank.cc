// One rank of pinstep-worker that trains on demand, for comparisons that take turns: worker_rank DIR IMAGES
// BATCH DATA MODEL, and RANK and so on in the environment. Leaves initial weights in DIR/rank-N and the order
// of the first epoch in DIR/order-N.npy, says "ready", and then answers each number E on standard input:
// {"seconds": of a step, the mean of the epoch, "cpu_seconds": of it, of all of this rank's threads,
// "losses": of each step, this rank's}
#include <ctime>
#include <iostream>

#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "launcher/worker/cli/in_session.h"
#include "launcher/worker/data/npy.h"
#include "launcher/worker/train/save.h"
#include "launcher/worker/train/trainer.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {
namespace {

double cpu_seconds() {
  timespec time{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

Result<void> serve(Session& session, CpuDevice& device, const std::vector<std::string>& words) {
  use_threads(device, session.place());
  auto data = read_data_set(words[3]);
  if (!data) return tl::unexpected(data.error());
  data->train.shorten(parse_number<std::uint32_t>(words[1]).value());
  data->test.shorten(1);
  TrainSettings settings;
  settings.batch = parse_number<std::uint32_t>(words[2]).value();
  if (!read_model(words[4], settings.model)) return fail(ErrorKind::usage, "'" + words[4] + "' is no model");
  if (settings.model.kind == ModelSpec::Kind::cnn) settings.model.hidden = {128};
  auto trainer = Trainer::create(device, session.transport(), *data, settings);
  if (!trainer) return tl::unexpected(trainer.error());
  const std::uint32_t rank = session.place().rank;
  auto weights = (*trainer)->weights();
  if (!weights) return tl::unexpected(weights.error());
  PINSTEP_TRY(save(words[0], {rank,
                              session.place().size,
                              words[4],
                              (*trainer)->layers(),
                              std::move(weights->parameters),
                              std::move(weights->values),
                              {},
                              0}));
  const auto order =
      Sampler{data->train.count, session.place().size, settings.seed, Tail::repeat, {}}.indices(1, rank);
  PINSTEP_TRY(write_whole(words[0] + "/order-" + std::to_string(rank) + ".npy", npy_head("<u4", {order.size()}),
                          {reinterpret_cast<const char*>(order.data()), order.size() * sizeof order[0]}));
  double seconds = 0;
  std::vector<double> losses;
  (*trainer)->on_step([&](const StepReport& report) {
    seconds += report.seconds;
    losses.push_back(report.loss);
  });
  print("ready\n");
  for (std::uint32_t epoch = 0; std::cin >> epoch;) {
    seconds = 0;
    losses.clear();
    const double before = cpu_seconds();
    const auto done = (*trainer)->train(epoch);
    if (!done) return tl::unexpected(done.error());
    const double steps = static_cast<double>(losses.size());
    print(json_line(
        {{"seconds", seconds / steps}, {"cpu_seconds", (cpu_seconds() - before) / steps}, {"losses", losses}}));
  }
  return {};
}

}  // namespace
}  // namespace pinstep::worker

int main(int argc, char** argv) {
  using namespace pinstep::worker;
  const std::vector<std::string> words(argv + 1, argv + argc);
  if (words.size() != 5) return 2;
  run_in_session({}, Form::text,
                 [&](Session& session, CpuDevice& device) { return serve(session, device, words); });
}
