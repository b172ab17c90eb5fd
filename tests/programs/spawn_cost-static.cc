// What starting a program costs: its CPU time and memory, with those of the processes it has waited for. A
// program of its own, static and small, since a child begins with its parent's peak of memory as its own.
//
//   spawn_cost-static COUNT PROGRAM [ARGUMENT]...              one after the other
//   spawn_cost-static --at-once COUNT PROGRAM [ARGUMENT]...    all at once, as the tasks of a step on one node:
//   each
//                                                       with its SLURM_PROCID and SLURM_LOCALID
//
// Prints microseconds of CPU time of all of them together and the most KiB of memory one had; their own
// output goes to /dev/null. Exit code 1 where one could not be started or has failed.
#include <fcntl.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

extern char** environ;

namespace {

struct Total {
  std::int64_t microseconds = 0;
  long most_kib = 0;
};

std::int64_t microseconds(const timeval& time) { return std::int64_t{time.tv_sec} * 1'000'000 + time.tv_usec; }

[[noreturn]] void end(const char* what) {
  std::fprintf(stderr, "spawn_cost-static: %s\n", what);
  std::exit(1);
}

void start(char** argv, const posix_spawn_file_actions_t& actions) {
  pid_t pid = 0;
  if (const int error = ::posix_spawn(&pid, argv[0], &actions, nullptr, argv, environ); error != 0)
    end(std::strerror(error));
}

void wait_for_one(Total& total) {
  int status = 0;
  rusage usage{};
  if (::wait4(-1, &status, 0, &usage) < 0) end("there is no child to wait for");
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) end("a program has failed");
  total.microseconds += microseconds(usage.ru_utime) + microseconds(usage.ru_stime);
  total.most_kib = std::max(total.most_kib, usage.ru_maxrss);
}

}  // namespace

int main(int argc, char** argv) {
  const bool at_once = argc > 1 && std::strcmp(argv[1], "--at-once") == 0;
  argv += at_once ? 2 : 1;
  argc -= at_once ? 2 : 1;
  const int count = argc > 1 ? std::atoi(argv[0]) : 0;
  if (count < 1) end("usage: spawn_cost-static [--at-once] COUNT PROGRAM [ARGUMENT]...");

  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
  Total total;
  for (int i = 0; i < count; ++i) {
    if (at_once) {
      ::setenv("SLURM_PROCID", std::to_string(i).c_str(), 1);
      ::setenv("SLURM_LOCALID", std::to_string(i).c_str(), 1);
    }
    start(argv + 1, actions);
    if (!at_once) wait_for_one(total);
  }
  for (int i = 0; at_once && i < count; ++i) wait_for_one(total);
  ::posix_spawn_file_actions_destroy(&actions);
  std::printf("%lld %ld\n", static_cast<long long>(total.microseconds), total.most_kib);
}
