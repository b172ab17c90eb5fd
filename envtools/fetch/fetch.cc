#include "envtools/fetch/fetch.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <optional>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"

namespace pinstep {
namespace {

// A file in memory as the program's standard input: unlike a pipe it can neither fill up nor break.
Result<UniqueFd> input_of(const std::string& text) {
  UniqueFd memory(::memfd_create("pinstep-fetch-job", MFD_CLOEXEC));
  if (!memory.valid()) return fail_errno(errno, "make", "a file in memory");
  std::string_view rest = text;
  while (!rest.empty()) {
    const ssize_t put = ::write(memory.get(), rest.data(), rest.size());
    if (put < 0 && errno == EINTR) continue;
    if (put < 0) return fail_errno(errno, "write", "a file in memory");
    rest.remove_prefix(static_cast<std::size_t>(put));
  }
  if (::lseek(memory.get(), 0, SEEK_SET) != 0) return fail_errno(errno, "rewind", "a file in memory");
  return memory;
}

Result<pid_t> start(const std::string& program, const Environment& environment, int in, int out) {
  std::vector<std::string> entries = environment.entries();
  std::vector<char*> variables;
  for (std::string& entry : entries) variables.push_back(entry.data());
  variables.push_back(nullptr);
  std::string name = program;
  char* const arguments[] = {name.data(), nullptr};

  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, in, STDIN_FILENO);
  posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  sigset_t none;
  sigset_t usual;
  sigemptyset(&none);
  sigemptyset(&usual);
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGHUP, SIGPIPE}) sigaddset(&usual, signal);
  posix_spawnattr_setsigmask(&attributes, &none);
  posix_spawnattr_setsigdefault(&attributes, &usual);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  pid_t child = 0;
  const int error = ::posix_spawn(&child, program.c_str(), &actions, &attributes, arguments, variables.data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail_errno(error, "run", program);
  return child;
}

// Hands on every whole line until the other end closes.
Result<void> read_lines(int fd, const std::function<Result<void>(std::string_view)>& on_line) {
  std::string pending;
  char buffer[16384];
  for (;;) {
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "read from", "pinstep-fetch");
    if (got == 0) return {};
    pending.append(buffer, static_cast<std::size_t>(got));
    std::size_t from = 0;
    for (std::size_t end; (end = pending.find('\n', from)) != std::string::npos; from = end + 1)
      if (const auto done = on_line(std::string_view(pending).substr(from, end - from)); !done) return done;
    pending.erase(0, from);
  }
}

int wait_for(pid_t child) {
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

}  // namespace

Result<void> fetch(const std::string& program, const Environment& environment, const FetchJob& job,
                   const std::function<void(const FetchEvent&)>& on_event) {
  if (job.files.empty()) return {};
  const auto input = input_of(format_fetch_job(job));
  if (!input) return tl::unexpected(input.error());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "make a pipe for", program);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  const auto child = start(program, environment, input->get(), writer.get());
  if (!child) return tl::unexpected(child.error());
  writer.reset();

  std::optional<Error> failed;
  std::size_t done = 0;
  const auto read = read_lines(reader.get(), [&](std::string_view line) -> Result<void> {
    const auto event = parse_fetch_event(line);
    if (!event) return tl::unexpected(event.error());
    if (event->file >= job.files.size())
      return fail(ErrorKind::invalid, "a fetch event names no file of the job");
    if (event->kind == FetchEvent::Kind::failed && !failed) failed = event->error;
    done += event->kind == FetchEvent::Kind::done;
    on_event(*event);
    return {};
  });
  if (!read) ::kill(*child, SIGTERM);
  const int status = wait_for(*child);
  if (!read) return tl::unexpected(read.error());
  if (failed) return tl::unexpected(*failed);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0 && done == job.files.size()) return {};
  return fail(ErrorKind::os, "'" + program + "' ended with " +
                                 (WIFSIGNALED(status) ? "signal " + std::to_string(WTERMSIG(status))
                                                      : "exit code " + std::to_string(WEXITSTATUS(status))) +
                                 " before all files were there");
}

}  // namespace pinstep
