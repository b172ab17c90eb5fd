#include "launcher/worker/cli/in_session.h"

#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "envtools/base/fd.h"
#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {
namespace {

constexpr Milliseconds kLastTime{1000};

unsigned threads_for(const Environment& environment, const Place& place, unsigned alone) {
  if (const auto asked = parse_number<unsigned>(environment.get("OMP_NUM_THREADS").value_or(""))) return *asked;
  return place.local_size > 1 ? 1 : alone;
}

// What is written last may go to a file system that hangs, as others then do that wait for this process.
void end_in(Milliseconds time, Outcome outcome) {
  std::thread([time, outcome] {
    std::this_thread::sleep_for(time);
    std::_Exit(static_cast<int>(outcome));
  }).detach();
}

}  // namespace

std::string host_name() {
  char name[256] = "";
  ::gethostname(name, sizeof name - 1);
  return name;
}

unsigned use_threads(CpuDevice& device, const Place& place, unsigned alone) {
  const unsigned threads = threads_for(process_environment(), place, alone);
  device.use_threads(threads);
  return threads;
}

void run_in_session(SessionSettings settings, Form form,
                    const std::function<Result<void>(Session& session, CpuDevice& device)>& act,
                    const std::function<void(Ending& ending, const Place& place)>& failed) {
  const Environment environment = process_environment();
  CpuDevice device;
  settings.node = host_name();
  settings.interface = environment.get("GLOO_SOCKET_IFNAME").value_or("");
  Session session(std::move(settings), device);
  Ending ending{Outcome::done, {}, {}, false};
  const auto done = session.open(environment).and_then([&] { return act(session, device); });
  if (done) {
    session.close();
    ending = session.ending();
  } else {
    ending = session.give_up(done.error());
  }
  if (ending.is_to_be_said) write_message(STDERR_FILENO, lines_of(ending, Form::text));
  if (!done && ending.outcome != Outcome::stopped) end_in(kLastTime, ending.outcome);
  if (ending.is_to_be_said && form == Form::json) print(lines_of(ending, form));
  if (!ending.error.cause.empty() && failed) failed(ending, session.place());
  if (ending.outcome == Outcome::done && is_output_lost()) ending.outcome = Outcome::failed;
  // Not through destructors: Gloo's reset the connections, with what is still on its way to others.
  std::_Exit(static_cast<int>(ending.outcome));
}

}  // namespace pinstep::worker
