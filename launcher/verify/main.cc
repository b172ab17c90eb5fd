// pinstep-verify: one rank of the step that `pinstep-launch verify` is. Called by pinstep-launch only, which
// has given the rank its place and its environment before, as it does for any program; so what is compared is
// what a program would get.
//
// Rank 0 serves the store where all leave their reports (launcher/worker/store), at the address and port that
// are the step's rendezvous, and speaks. Nothing waits longer than the time limit.
#include <signal.h>
#include <unistd.h>

#include <cstdio>

#include "envtools/base/fd.h"
#include "envtools/base/process.h"
#include "envtools/base/standard_output.h"
#include "envtools/base/text.h"
#include "envtools/base/variables.h"
#include "launcher/step/nodelist.h"
#include "launcher/step/step.h"
#include "launcher/verify/agreement.h"
#include "launcher/verify/node_facts.h"
#include "launcher/verify/options.h"
#include "launcher/worker/store/place.h"
#include "launcher/worker/store/tcp_store.h"
#include "launcher/worker/try.h"
#include "pinstep_config.h"

namespace pinstep::verify {
namespace {

using worker::Milliseconds;
using Now = std::chrono::steady_clock;

constexpr unsigned kLoadingSeconds = 30;  // beyond the time limit: a library on a slow file system
constexpr std::size_t kMostNodes = 100'000;
constexpr const char* kVerdict = "verdict";

std::string key_of(std::uint32_t rank) { return "report." + std::to_string(rank); }

RankReport own_report(const Options& options, const Environment& environment, const StepFacts& facts) {
  RankReport report;
  report.rank = facts.rank;
  report.local_size = facts.local_size;
  report.node = facts.place.node;
  report.gpus = options.uuids;
  const auto add = [&](std::string_view name, std::string value) {
    if (!value.empty() && value != "-") report.facts.emplace(name, std::move(value));
  };
  add("pinstep", PINSTEP_VERSION);
  add("plugin", std::string(environment.get(variable::kStepPlugin).value_or("")));
  add("environment", std::string(environment.get(variable::kStepEnv).value_or("")));
  add("kernel", kernel_release());
  add("driver", driver_version("/sys", "/proc"));
  add("nccl", nccl_version(environment));
  add("gpus", options.gpus);
  add("nics", options.nics);
  add("map", options.map);
  return report;
}

// Where rank 0 is, for every shape of step. Errors: invalid.
Result<worker::Meeting> meeting(const Environment& environment) {
  const auto value = [&](const char* name, const char* of_torchrun) {
    const auto own = environment.get(name);
    return std::string((own ? own : environment.get(of_torchrun)).value_or(""));
  };
  worker::Meeting meeting;
  const std::string address = value("MASTER_ADDR", "PET_MASTER_ADDR");
  const auto port = parse_number<std::uint16_t>(value("MASTER_PORT", "PET_MASTER_PORT"));
  if (address.empty() || !port)
    return fail(ErrorKind::invalid, "the ranks have no place to meet: MASTER_ADDR or MASTER_PORT is not set",
                "set both for the step");
  meeting.hosts.push_back(address);
  meeting.port = *port;
  return meeting;
}

// All reports that come in time.
std::vector<RankReport> collect(worker::TcpStore& store, std::uint32_t ranks, Now::time_point until) {
  std::vector<RankReport> reports;
  for (std::uint32_t rank = 0; rank < ranks; ++rank) {
    const auto left = std::chrono::ceil<Milliseconds>(until - Now::now());
    const auto text = store.get(key_of(rank), std::max(left, Milliseconds(0)));
    auto report = text ? RankReport::parse(*text) : fail(ErrorKind::timed_out, "");
    if (report && report->rank == rank) reports.push_back(std::move(*report));
  }
  return reports;
}

int conclude(const Options& options, const Environment& environment, const StepFacts& facts,
             const std::vector<RankReport>& reports) {
  const auto nodes = expand_node_list(environment.get("SLURM_STEP_NODELIST").value_or(""), kMostNodes);
  const Findings findings = compare(reports, facts.size, nodes.value_or(std::vector<std::string>()));
  std::fputs((options.json ? json(findings) : show(findings)).c_str(), stdout);
  return end_output("pinstep-launch", findings.all_well() ? 0 : 1, 1);
}

Result<int> verify(const Options& options, const Environment& environment, const StepFacts& facts) {
  const auto until = Now::now() + options.timeout;
  const RankReport own = own_report(options, environment, facts);
  if (facts.size == 1) return conclude(options, environment, facts, {own});
  const auto place = meeting(environment);
  if (!place) return tl::unexpected(place.error());
  const std::string cookie = worker::cookie_of(environment);
  std::unique_ptr<worker::TcpStoreServer> server;
  if (facts.rank == 0) {
    worker::TcpStoreServer::Settings settings;
    settings.cookie = cookie;
    settings.size = facts.size;
    auto started = worker::TcpStoreServer::start(place->port, settings);
    if (!started) return tl::unexpected(started.error());
    server = std::move(*started);
  }
  const worker::Member member{cookie, facts.size, facts.rank, facts.place.node};
  const auto store = worker::TcpStore::connect(*place, member, options.timeout);
  if (!store) return tl::unexpected(store.error());
  PINSTEP_TRY((*store)->set(key_of(facts.rank), own.text()));
  int code = 0;
  if (server != nullptr) {
    code = conclude(options, environment, facts, collect(**store, facts.size, until));
    PINSTEP_TRY((*store)->set(kVerdict, std::to_string(code)));
  } else {
    // Only rank 0's exit code is not 0: one line of srun's is enough. Its own time limit may begin later.
    PINSTEP_TRY((*store)->get(kVerdict, 2 * options.timeout));
  }
  (*store)->bye();
  if (server != nullptr) server->linger(Milliseconds(2000));
  return code;
}

void say(const Error& error) {
  write_message(STDERR_FILENO, "pinstep-launch: error: " + error.cause + "\n");
  if (!error.hint.empty()) write_message(STDERR_FILENO, "pinstep-launch: hint: " + error.hint + "\n");
}

extern "C" void end_at_last(int) {
  write_message(STDERR_FILENO, "pinstep-launch: error: verify did not come to an end in time\n");
  ::_exit(1);
}

int run(const std::vector<std::string>& arguments) {
  const Environment environment = process_environment();
  const auto facts = read_step_facts(environment);
  const auto options = parse_options(arguments);
  if (!options) {
    if (!facts || facts->rank == 0) say(options.error());
    return 2;
  }
  if (!facts) {
    say(facts.error());
    return 1;
  }
  // A library that hangs while it is loaded, a name service that does not answer.
  ::signal(SIGALRM, end_at_last);
  ::alarm(3 * static_cast<unsigned>(options->timeout.count()) + kLoadingSeconds);
  const auto code = verify(*options, environment, *facts);
  if (code) return *code;
  // One line for each node.
  if (facts->local_rank == 0)
    say({code.error().kind, facts->place.node + ": " + code.error().cause, code.error().hint});
  return 1;
}

}  // namespace
}  // namespace pinstep::verify

int main(int argc, char** argv) { return pinstep::verify::run({argv + 1, argv + argc}); }
