#include "envtools/record/shell.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <ctime>

#include "envtools/base/fd.h"

namespace pinstep {
namespace {

// ---- in the child: the process has threads, so from fork to exec only what is safe in signal handlers

struct Report {
  bool timed_out;
  int status;  // as waitpid(2) gives it
};

struct Prepared {
  const char* program;
  char* const* argv;
  char* const* environment;
  int answers[2];
  Circumstances circumstances;
  int time_limit;
  pid_t asking;
};

void write_to(const char* path, const char* text) {
  const int fd = ::open(path, O_WRONLY | O_CLOEXEC);
  if (fd < 0) return;
  [[maybe_unused]] const ssize_t ignored = ::write(fd, text, std::strlen(text));
  ::close(fd);
}

// Each that is refused leaves this one circumstance as it was.
void change_circumstances() {
  ::umask(077);
  for (const auto which : {RLIMIT_NOFILE, RLIMIT_NPROC, RLIMIT_STACK, RLIMIT_CORE, RLIMIT_MEMLOCK}) {
    rlimit limit{};
    if (::getrlimit(which, &limit) == 0 && limit.rlim_cur > 0) --limit.rlim_cur;
    ::setrlimit(which, &limit);
  }
  cpu_set_t mine, one;
  CPU_ZERO(&mine);
  CPU_ZERO(&one);
  if (::sched_getaffinity(0, sizeof mine, &mine) == 0) {
    for (int cpu = 0; cpu < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++cpu)
      if (CPU_ISSET(cpu, &mine)) CPU_SET(cpu, &one);
    ::sched_setaffinity(0, sizeof one, &one);
  }
  // The rights that the namespace gives end with exec, for whoever is not root in it.
  char users[64], groups[64];
  std::snprintf(users, sizeof users, "54321 %u 1\n", static_cast<unsigned>(::geteuid()));
  std::snprintf(groups, sizeof groups, "54321 %u 1\n", static_cast<unsigned>(::getegid()));
  if (::unshare(CLONE_NEWUSER | CLONE_NEWUTS) != 0) return;
  write_to("/proc/self/setgroups", "deny");
  write_to("/proc/self/uid_map", users);
  write_to("/proc/self/gid_map", groups);
  [[maybe_unused]] const int ignored = ::sethostname("pinstep-b", 9);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);  // new rights clear it
}

[[noreturn]] void become_program(const Prepared& prepared, pid_t keeper) {
  ::setsid();
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != keeper) ::_exit(127);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int nothing = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(nothing, STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  ::umask(022);
  if (::dup2(prepared.answers[0], kEnvironmentFd) < 0 || ::dup2(prepared.answers[1], kRemarksFd) < 0)
    ::_exit(127);
  if (prepared.circumstances == Circumstances::unusual) change_circumstances();
  ::execve(prepared.program, prepared.argv, prepared.environment);
  ::_exit(127);
}

// Ids of this process's children, as the kernel lists them.
void kill_children() {
  const int fd = ::open("/proc/thread-self/children", O_RDONLY | O_CLOEXEC);
  if (fd < 0) return;
  char buffer[4096];
  pid_t child = 0;
  for (ssize_t got; (got = ::read(fd, buffer, sizeof buffer)) > 0;)
    for (ssize_t i = 0; i < got; ++i) {
      if (buffer[i] >= '0' && buffer[i] <= '9') {
        child = child * 10 + (buffer[i] - '0');
      } else {
        if (child > 0) ::kill(child, SIGKILL);
        child = 0;
      }
    }
  ::close(fd);
}

// Orphans come to the keeper, so each round reaches those whose parents the one before has ended.
void end_everybody(pid_t program) {
  constexpr int kRounds = 2000;
  for (int round = 0; round < kRounds; ++round) {
    ::kill(-program, SIGKILL);
    kill_children();
    pid_t gone = 0;
    while ((gone = ::waitpid(-1, nullptr, WNOHANG)) > 0) {
    }
    if (gone < 0) return;  // there are none
    const timespec moment{0, 1'000'000};
    ::nanosleep(&moment, nullptr);
  }
}

// How the program ended. The signals are blocked; SIGTERM comes when the process that asked is gone.
Report wait_for(pid_t program, const Prepared& prepared, const sigset_t& signals) {
  timespec now{};
  ::clock_gettime(CLOCK_MONOTONIC, &now);
  const time_t end = now.tv_sec + prepared.time_limit;
  for (;;) {
    int status = 0;
    pid_t gone = 0;
    while ((gone = ::waitpid(-1, &status, WNOHANG)) > 0)
      if (gone == program) return {false, status};
    if (::getppid() != prepared.asking) return {false, SIGKILL};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    if (now.tv_sec >= end) return {true, 0};
    const timespec rest{end - now.tv_sec, 0};
    ::sigtimedwait(&signals, nullptr, &rest);
  }
}

[[noreturn]] void keep(const Prepared& prepared, int report_to) {
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGCHLD);
  sigaddset(&signals, SIGTERM);
  ::sigprocmask(SIG_SETMASK, &signals, nullptr);
  ::signal(SIGCHLD, SIG_DFL);
  ::setsid();  // Ctrl-C is for the process that asked; its end is ours
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  const pid_t self = ::getpid();
  const pid_t program = ::fork();
  if (program == 0) become_program(prepared, self);
  if (program < 0 || ::write(report_to, &program, sizeof program) < 0) ::_exit(1);
  const Report report = wait_for(program, prepared, signals);
  end_everybody(program);
  [[maybe_unused]] const ssize_t ignored = ::write(report_to, &report, sizeof report);
  ::_exit(0);
}

// ---- in the process that asks

std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> array;
  for (std::string& text : strings) array.push_back(text.data());
  array.push_back(nullptr);
  return array;
}

std::string content_of(int fd, std::size_t limit) {
  std::string text;
  std::array<char, 1 << 16> buffer;
  while (text.size() <= limit) {
    const ssize_t got = ::pread(fd, buffer.data(), buffer.size(), static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    text.append(buffer.data(), static_cast<std::size_t>(got));
  }
  return text.substr(0, limit + 1);
}

// False where the keeper was killed before it could tell.
template <class Value>
bool read_value(int fd, Value& value) {
  for (;;) {
    const ssize_t got = ::read(fd, &value, sizeof value);
    if (got < 0 && errno == EINTR) continue;
    return got == sizeof value;
  }
}

}  // namespace

Result<ShellEnd> run_shell(const ShellRun& run, std::size_t limit) {
  const UniqueFd environment(::memfd_create("environment", MFD_CLOEXEC));
  const UniqueFd remarks(::memfd_create("remarks", MFD_CLOEXEC));
  int ends[2];
  if (!environment.valid() || !remarks.valid() || ::pipe2(ends, O_CLOEXEC) != 0)
    return fail_errno(errno, "run", run.argv[0]);
  const UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  std::vector<std::string> arguments = run.argv, entries = run.environment.entries();
  const std::vector<char*> argv = pointers(arguments), envp = pointers(entries);
  const Prepared prepared{run.argv[0].c_str(), argv.data(),    envp.data(), {environment.get(), remarks.get()},
                          run.circumstances,   run.time_limit, ::getpid()};
  const pid_t keeper = ::fork();
  if (keeper < 0) return fail_errno(errno, "run", run.argv[0]);
  if (keeper == 0) keep(prepared, writer.get());
  writer.reset();

  Report report{false, SIGKILL};
  pid_t program = 0;
  const bool started = read_value(reader.get(), program);
  const bool told = started && read_value(reader.get(), report);
  if (started && !told) ::kill(-program, SIGKILL);  // the keeper was killed
  int ignored = 0;
  while (::waitpid(keeper, &ignored, 0) < 0 && errno == EINTR) {
  }
  ShellEnd end;
  end.timed_out = report.timed_out;
  end.exit_code = told && WIFEXITED(report.status) ? WEXITSTATUS(report.status) : 0;
  end.signal = WIFSIGNALED(report.status) ? WTERMSIG(report.status) : 0;
  end.environment = content_of(environment.get(), limit);
  end.remarks = content_of(remarks.get(), limit);
  return end;
}

}  // namespace pinstep
