// pinstep-fetch: a job on standard input, events on standard output (fetch.h).
#include <signal.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <atomic>
#include <exception>

#include "envtools/base/fd.h"
#include "envtools/base/process.h"
#include "envtools/fetch/downloader.h"

namespace {

using namespace pinstep;

// A signal handler can reach nothing else.
std::atomic<int> stopped_by{0};

void stop(int signal) { stopped_by = signal; }

// Interrupted, or left by the process that wanted the files: downloads end in order, so that the next try finds
// their parts.
void watch_signals() {
  struct sigaction action {};
  action.sa_handler = stop;
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) ::sigaction(signal, &action, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGXFSZ, SIG_IGN);  // then write(2) says EFBIG
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
}

Result<std::string> read_input() {
  constexpr std::size_t kLimit = 64 << 20;
  std::string text;
  char buffer[16384];
  for (;;) {
    const ssize_t got = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR && stopped_by == 0) continue;
    if (got < 0) return fail_errno(errno, "read", "standard input");
    if (got == 0) return text;
    text.append(buffer, static_cast<std::size_t>(got));
    if (text.size() > kLimit) return fail(ErrorKind::invalid, "the fetch job is too long");
  }
}

void tell(const FetchEvent& event) {
  if (!write_all(STDOUT_FILENO, format_fetch_event(event))) stopped_by = SIGPIPE;  // nobody reads any more
}

int run() {
  const pid_t parent = ::getppid();
  watch_signals();
  if (::getppid() != parent) return 1;  // it ended before the wish to be told of its end
  const auto text = read_input();
  const auto job = text ? parse_fetch_job(*text) : Result<FetchJob>(tl::unexpected(text.error()));
  if (!job) {
    write_message(STDERR_FILENO, "pinstep-fetch: " + one_line(job.error()) + "\n");
    return 2;
  }
  curl_global_init(CURL_GLOBAL_DEFAULT);
  const std::size_t missing =
      download(*job, transfer_settings(process_environment(), *job), {tell, [] { return stopped_by == 0; }});
  if (stopped_by != 0 && stopped_by != SIGPIPE) {
    ::signal(stopped_by, SIG_DFL);
    ::raise(stopped_by);
  }
  return missing == 0 ? 0 : 1;
}

}  // namespace

int main() {
  try {
    return run();
  } catch (const std::exception& problem) {
    write_message(STDERR_FILENO, std::string("pinstep-fetch: ") + problem.what() + "\n");
    return 1;
  }
}
