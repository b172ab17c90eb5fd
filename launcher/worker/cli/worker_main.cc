// pinstep-worker: one rank of a data-parallel training run.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>

#include "envtools/base/fd.h"
#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "launcher/worker/cli/options.h"
#include "launcher/worker/cli/report.h"
#include "launcher/worker/device/cpu_device.h"
#include "launcher/worker/train/save.h"
#include "launcher/worker/try.h"
#include "pinstep_config.h"

namespace pinstep::worker {
namespace {

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

std::string host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

// Ranks that share a node would get into each other's way with all of its cores.
unsigned threads_for(const Environment& environment, const Place& place) {
  if (const auto asked = parse_number<unsigned>(environment.get("OMP_NUM_THREADS").value_or(""))) return *asked;
  return place.local_size > 1 ? 1 : 0;
}

Result<DataSet> read_data(const WorkerOptions& options) {
  auto data = read_data_set(options.data);
  if (!data) return data;
  if (options.images > 0) data->train.shorten(options.images);
  if (options.test_images > 0) data->test.shorten(options.test_images);
  return data;
}

// What is saved is also saved where the ranks then disagree: to be looked at.
Result<void> finish(Session& session, Trainer& trainer, const WorkerOptions& options, double accuracy,
                    Form form) {
  if (!options.save.empty()) {
    auto weights = trainer.weights();
    if (!weights) return tl::unexpected(weights.error());
    PINSTEP_TRY(save(options.save, {session.place().rank, trainer.sizes(), std::move(weights->parameters),
                                    std::move(weights->values), trainer.seen(), accuracy}));
  }
  const auto digest = trainer.agreed_weights();
  if (!digest) return tl::unexpected(digest.error());
  if (session.place().rank == 0) print(line_of_end(*digest, options.save, form));
  return {};
}

Result<void> train(Session& session, CpuDevice& device, const WorkerOptions& options, Form form) {
  const Environment environment = process_environment();
  PINSTEP_TRY(session.open(environment));
  const unsigned threads = threads_for(environment, session.place());
  device.use_threads(threads);
  const auto data = read_data(options);
  if (!data) return tl::unexpected(data.error());
  auto trainer = Trainer::create(device, session.transport(), *data, options.train);
  if (!trainer) return tl::unexpected(trainer.error());
  const bool speaks = session.place().rank == 0;
  if (speaks)
    print(line_of(Start{session.place().size, std::string(session.transport_name()), std::string(device.name()),
                        threads, (*trainer)->sizes(), count((*trainer)->model().parameters()),
                        (*trainer)->buckets(), data->train.count},
                  form));
  double accuracy = 0;
  for (std::uint32_t epoch = 1; epoch <= options.train.epochs && !(*trainer)->is_finished(); ++epoch) {
    const auto report = (*trainer)->train(epoch);
    if (!report) return tl::unexpected(report.error());
    accuracy = report->accuracy;
    if (speaks) print(line_of(*report, form));
  }
  return finish(session, **trainer, options, accuracy, form);
}

[[noreturn]] void run(const WorkerOptions& options) {
  const Form form = options.json ? Form::json : Form::text;
  CpuDevice device;
  SessionSettings settings = options.session;
  settings.node = host_name();
  settings.interface = process_environment().get("GLOO_SOCKET_IFNAME").value_or("");
  Session session(std::move(settings), device);
  Ending ending{Outcome::done, {}, {}, false};
  const auto done = train(session, device, options, form);
  if (done)
    session.close();
  else
    ending = session.give_up(done.error());
  if (ending.is_to_be_said && form == Form::json) print(lines_of(ending, form));
  if (ending.is_to_be_said) write_message(STDERR_FILENO, lines_of(ending, Form::text));
  // Not through destructors: Gloo's reset the connections, with what is still on its way to others.
  std::_Exit(static_cast<int>(ending.outcome));
}

// Gloo's own thread throws where a connection breaks in a moment it did not expect.
[[noreturn]] void end_by_terminate() {
  std::string words = "an error that nobody expected";
  try {
    if (const auto current = std::current_exception()) std::rethrow_exception(current);
  } catch (const std::exception& exception) {
    words = exception.what();
  } catch (...) {
  }
  write_message(STDERR_FILENO, "pinstep-worker: error: " + printable(words) + "\n");
  std::_Exit(static_cast<int>(Outcome::peers_unclear));
}

int usage_error(const Error& error) {
  std::fprintf(stderr, "pinstep-worker: error: %s\n", error.cause.c_str());
  if (!error.hint.empty()) std::fprintf(stderr, "pinstep-worker: hint: %s\n", error.hint.c_str());
  return 2;
}

}  // namespace
}  // namespace pinstep::worker

int main(int argc, char** argv) {
  using namespace pinstep::worker;
  const auto options = parse_worker_options({argv + 1, argv + argc});
  if (!options) return usage_error(options.error());
  if (options->action == WorkerOptions::Action::help) {
    std::fputs(kWorkerUsage, stdout);
    return 0;
  }
  if (options->action == WorkerOptions::Action::version) {
    std::puts("pinstep-worker " PINSTEP_VERSION);
    return 0;
  }
  std::set_terminate(end_by_terminate);
  run(*options);
}
