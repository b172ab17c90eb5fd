// pinstep-worker: one rank of a data-parallel training run.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "launcher/worker/cli/bench_options.h"
#include "launcher/worker/cli/check_options.h"
#include "launcher/worker/cli/output.h"
#include "launcher/worker/cli/report_options.h"
#include "launcher/worker/cli/train_options.h"
#include "launcher/worker/cli/verbs.h"
#include "launcher/worker/train/session.h"
#include "pinstep_config.h"

namespace pinstep::worker {
namespace {

using Words = std::vector<std::string>;

struct Verb {
  std::string_view name;
  const char* summary;
  const char* usage;
  Error (*run)(const Words& words);
};

const Verb kVerbs[] = {
    {"train", "train a small network on the ranks of a step", kTrainUsage, train_verb},
    {"bench", "measure what the ranks can exchange, and training steps", kBenchUsage, bench_verb},
    {"check", "look whether an allocation can train, in seconds", kCheckUsage, check_verb},
    {"report", "what a run's logs say: epochs, step times, stragglers", kReportUsage, report_verb},
};

std::string usage() {
  std::string text = "usage: pinstep-worker VERB [OPTION]...\n\n";
  for (const Verb& verb : kVerbs) {
    text += "  " + std::string(verb.name);
    text.append(8 - verb.name.size(), ' ').append(verb.summary) += '\n';
  }
  return text + "\n'pinstep-worker VERB --help' describes one; --version.\n";
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

int no_verb(const Words& words) {
  std::vector<std::string_view> names;
  for (const Verb& verb : kVerbs) names.push_back(verb.name);
  if (words.empty()) return usage_error({ErrorKind::usage, "nothing to do", "pinstep-worker --help"});
  const auto near = nearest(words[0], names);
  return usage_error({ErrorKind::usage, "there is no verb '" + printable(words[0]) + "'",
                      near ? "did you mean '" + std::string(*near) + "'?" : "pinstep-worker --help"});
}

bool asks_for(const Words& words, std::string_view option) {
  return std::find(words.begin(), words.end(), option) != words.end();
}

// A socket must not get the number of an output that is closed. What is opened here refuses to be written to,
// as a closed one does.
void fill_closed_descriptors() {
  for (const int fd : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO})
    if (::fcntl(fd, F_GETFD) < 0) (void)::open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY);
}

int run(const Words& words) {
  fill_closed_descriptors();
  const auto verb = std::find_if(std::begin(kVerbs), std::end(kVerbs),
                                 [&](const Verb& v) { return !words.empty() && words[0] == v.name; });
  if (asks_for(words, "--version")) {
    print("pinstep-worker " PINSTEP_VERSION "\n");
    return is_output_lost() ? 1 : 0;
  }
  if (asks_for(words, "--help") || asks_for(words, "-h")) {
    print(verb == std::end(kVerbs) ? usage() : verb->usage);
    return is_output_lost() ? 1 : 0;
  }
  if (verb == std::end(kVerbs)) return no_verb(words);
  std::set_terminate(end_by_terminate);
  // Gloo writes to a rank that is gone without MSG_NOSIGNAL: an error to be told, and not this rank's end.
  std::signal(SIGPIPE, SIG_IGN);
  return usage_error(verb->run({words.begin() + 1, words.end()}));
}

}  // namespace
}  // namespace pinstep::worker

int main(int argc, char** argv) { return pinstep::worker::run({argv + 1, argv + argc}); }
