#include <unistd.h>

#include <cstdlib>
#include <thread>

#include "envtools/base/fd.h"
#include "envtools/base/process.h"
#include "launcher/worker/check/check.h"
#include "launcher/worker/cli/check_options.h"
#include "launcher/worker/cli/check_output.h"
#include "launcher/worker/cli/in_session.h"
#include "launcher/worker/cli/verbs.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {
namespace {

constexpr Milliseconds kFarewell{1000};  // rank 0 waits so long for the others to have heard

// Whether all is well, which rank 0 says.
Result<bool> check(Session& session, const CheckOptions& options, const std::string& node,
                   const Schedule& schedule) {
  const Environment environment = process_environment();
  PINSTEP_TRY(session.meet(environment));
  auto own = look_around(session, node, environment, schedule);
  if (!own) return tl::unexpected(own.error());
  if (session.place().rank > 0) return hear(session, schedule);
  const Form form = options.json ? Form::json : Form::text;
  const Gathered gathered = gather(session, std::move(*own), environment, schedule);
  const auto findings = judge(gathered, options.limits);
  print(lines_of(gathered, form));
  for (const Finding& finding : findings)
    form == Form::json ? print(line_of(finding, form)) : write_message(STDERR_FILENO, line_of(finding, form));
  print(line_of_verdict(summarize(gathered), findings, form));
  PINSTEP_TRY(tell(session, findings.empty()));
  return findings.empty();
}

// Nothing in here waits longer than the schedule says, but a name service, a disk or a driver might.
void end_at(Moment when) {
  std::thread([when] {
    std::this_thread::sleep_until(when);
    write_message(STDERR_FILENO, "pinstep-worker: error: rank 0 or this node does not answer\n");
    std::_Exit(1);
  }).detach();
}

Error at_rank(const Place& place, const std::string& node, Error error) {
  error.cause = "rank " + std::to_string(place.rank) + " on " + node + ": " + error.cause;
  return error;
}

}  // namespace

Error check_verb(const std::vector<std::string>& words) {
  const auto options = parse_check_options(words);
  if (!options) return options.error();
  const Schedule schedule{std::chrono::steady_clock::now(), options->time};
  end_at(schedule.ended() + kFarewell);
  CpuDevice device;
  const std::string node = host_name();
  SessionSettings settings;
  settings.store = options->store;
  settings.node = node;
  settings.deadline = kFarewell;
  settings.start_time = Milliseconds(poll_time(schedule.arrived()));
  Session session(settings, device);
  const auto is_well = check(session, *options, node, schedule);
  if (!is_well)
    write_message(STDERR_FILENO,
                  lines_of(Ending{Outcome::failed, at_rank(session.place(), node, is_well.error()), {}, true},
                           Form::text));
  session.close();
  std::_Exit(is_well && *is_well && !is_output_lost() ? 0 : 1);
}

}  // namespace pinstep::worker
