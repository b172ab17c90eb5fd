#include "envtools/base/process.h"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include <algorithm>
#include <cstdlib>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"

extern char** environ;

namespace pinstep {
namespace {

// The NULL-terminated array that the exec family wants; views into `strings`.
std::vector<char*> pointers(std::vector<std::string>& strings) {
  std::vector<char*> array;
  array.reserve(strings.size() + 1);
  for (std::string& text : strings) array.push_back(text.data());
  array.push_back(nullptr);
  return array;
}

// The file that argv[0] names, looked up as execvp(3) does but on the PATH the program will have, not on
// ours: activation has changed it.
Result<std::string> find_program(const Command& command) {
  if (command.argv.empty() || command.argv[0].empty())
    return fail(ErrorKind::not_found, "the name of the program is empty");
  const std::string& name = command.argv[0];
  if (name.find('/') != std::string::npos) return name;
  bool denied = false;
  for (const std::string_view directory :
       split(command.environment.get("PATH").value_or("/usr/bin:/bin"), ':')) {
    const std::string path = (directory.empty() ? "." : std::string(directory)) + "/" + name;
    struct stat info {};
    if (::stat(path.c_str(), &info) != 0 || S_ISDIR(info.st_mode)) continue;
    if (::access(path.c_str(), X_OK) == 0) return path;
    denied = true;
  }
  if (denied) return fail(ErrorKind::refused, "'" + name + "' is on PATH and not executable");
  return fail(ErrorKind::not_found, "'" + name + "' is not on PATH");
}

// What a program that is told to end may take for it.
constexpr std::chrono::seconds kGrace{2};

// SIGCHLD at its default as long as this lives.
class ChildSignal {
 public:
  ChildSignal() {
    struct sigaction standard {};
    standard.sa_handler = SIG_DFL;
    ::sigaction(SIGCHLD, nullptr, &before_);
    if (before_.sa_handler == SIG_IGN) ::sigaction(SIGCHLD, &standard, nullptr);
  }
  ~ChildSignal() {
    if (before_.sa_handler == SIG_IGN) ::sigaction(SIGCHLD, &before_, nullptr);
  }
  ChildSignal(const ChildSignal&) = delete;
  ChildSignal& operator=(const ChildSignal&) = delete;

 private:
  struct sigaction before_ {};
};

using TimeLimit = std::optional<std::chrono::milliseconds>;

// Waits until there is something to read. Errors: timed_out.
Result<void> wait_for_output(int fd, std::chrono::steady_clock::time_point end) {
  for (;;) {
    const auto left =
        std::chrono::ceil<std::chrono::milliseconds>(end - std::chrono::steady_clock::now()).count();
    pollfd watched{fd, POLLIN, 0};
    const int ready = ::poll(&watched, 1, static_cast<int>(std::clamp<long>(left, 0, INT_MAX)));
    if (ready > 0) return {};
    if (ready == 0) return fail(ErrorKind::timed_out, "the program did not end in its time");
    if (errno != EINTR) return fail_errno(errno, "wait for", "the program's output");
  }
}

Result<void> read_all(int fd, const OnOutput& on_output, TimeLimit time_limit) {
  const auto began = std::chrono::steady_clock::now();
  char buffer[16384];
  for (;;) {
    if (time_limit)
      if (auto ready = wait_for_output(fd, began + *time_limit); !ready) return ready;
    const ssize_t got = ::read(fd, buffer, sizeof buffer);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "read from", "the program's output");
    if (got == 0) return {};
    if (auto taken = on_output({buffer, static_cast<std::size_t>(got)}); !taken) return taken;
  }
}

// The text as a file without a name, to be read from its beginning: no thread has to feed it.
Result<UniqueFd> file_of(std::string_view text) {
  UniqueFd file(::memfd_create("input", MFD_CLOEXEC));
  if (!file.valid()) return fail_errno(errno, "make", "a program's input");
  if (!write_all(file.get(), text)) return fail_errno(errno, "write", "a program's input");
  if (::lseek(file.get(), 0, SEEK_SET) != 0) return fail_errno(errno, "rewind", "a program's input");
  return file;
}

// At most `limit` bytes of a file from its beginning.
std::string beginning_of(int fd, std::size_t limit) {
  std::string text;
  char buffer[4096];
  for (;;) {
    const ssize_t got = ::pread(fd, buffer, sizeof buffer, static_cast<off_t>(text.size()));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0 || text.size() >= limit) return text.substr(0, limit);
    text.append(buffer, static_cast<std::size_t>(got));
  }
}

}  // namespace

Environment process_environment() { return Environment::from(environ); }

void replace_process_environment(const Environment& after) {
  const Environment before = process_environment();
  for (const Edit& edit : diff(before, after)) {
    const std::string name(edit.name);
    if (edit.op == EditOp::set)
      ::setenv(name.c_str(), std::string(edit.value).c_str(), 1);
    else
      ::unsetenv(name.c_str());
  }
}

std::string working_directory() {
  char path[PATH_MAX];
  return ::getcwd(path, sizeof path) == nullptr ? "" : path;
}

std::string own_program_directory() {
  char path[PATH_MAX];
  const ssize_t size = ::readlink("/proc/self/exe", path, sizeof path);
  if (size <= 0) return {};
  const std::string_view program(path, static_cast<std::size_t>(size));
  return std::string(program.substr(0, program.rfind('/')));
}

std::string private_file(std::string_view name, std::string_view installed) {
  const std::string beside = own_program_directory() + "/../libexec/pinstep/" + std::string(name);
  if (::access(beside.c_str(), F_OK) == 0) return beside;
  return std::string(installed) + "/" + std::string(name);
}

Result<CommandResult> run(const Command& command, std::size_t output_limit) {
  std::string output;
  auto result = run(
      command,
      [&](std::string_view bytes) -> Result<void> {
        output += bytes;
        if (output.size() <= output_limit) return {};
        return fail(ErrorKind::corrupt,
                    "the program wrote more than " + std::to_string(output_limit) + " bytes");
      },
      output_limit);
  if (result) result->output = std::move(output);
  return result;
}

Result<CommandResult> run(const Command& command, const OnOutput& on_output, std::size_t errors_limit) {
  const auto program = find_program(command);
  if (!program) return tl::unexpected(program.error());
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail_errno(errno, "make a pipe for", *program);
  UniqueFd reader(ends[0]);
  UniqueFd writer(ends[1]);
  Result<UniqueFd> input = command.input ? file_of(*command.input) : UniqueFd();
  if (!input) return tl::unexpected(input.error());
  const Result<UniqueFd> errors = command.collect_errors ? file_of("") : UniqueFd();
  if (!errors) return tl::unexpected(errors.error());

  std::vector<std::string> arguments = command.argv;
  std::vector<std::string> entries = command.environment.entries();
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_adddup2(&actions, writer.get(), STDOUT_FILENO);
  if (input->valid()) posix_spawn_file_actions_adddup2(&actions, input->get(), STDIN_FILENO);
  if (errors->valid()) posix_spawn_file_actions_adddup2(&actions, errors->get(), STDERR_FILENO);
  // The host process may block or ignore signals that the user wants to stop the program with.
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
  // Some workflow managers ignore SIGCHLD, and srun inherits that: children then leave no exit code.
  const ChildSignal child_signal;
  pid_t child = 0;
  const int error = ::posix_spawn(&child, program->c_str(), &actions, &attributes, pointers(arguments).data(),
                                  pointers(entries).data());
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error != 0) return fail_errno(error, "run", *program);
  writer.reset();

  const Result<void> output = read_all(reader.get(), on_output, command.time_limit);
  if (!output && output.error().kind == ErrorKind::timed_out) {
    ::kill(child, SIGTERM);
    (void)read_all(reader.get(), on_output, kGrace);
  }
  if (!output) ::kill(child, SIGKILL);
  int status = 0;
  pid_t waited = 0;
  do {
    waited = ::waitpid(child, &status, 0);
  } while (waited < 0 && errno == EINTR);
  if (!output) return tl::unexpected(output.error());
  // ECHILD: our host process ignores SIGCHLD, so how the program ended is lost.
  if (waited < 0) return fail_errno(errno, "learn the end of", *program);
  CommandResult result;
  result.exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 0;
  result.signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
  if (errors->valid()) result.errors = beginning_of(errors->get(), errors_limit);
  return result;
}

Error exec(const Command& command) {
  const auto program = find_program(command);
  if (!program) return program.error();
  std::vector<std::string> arguments = command.argv;
  std::vector<std::string> entries = command.environment.entries();
  ::execve(program->c_str(), pointers(arguments).data(), pointers(entries).data());
  const int error_number = errno;
  if (error_number == ENOEXEC) {  // a script without an interpreter line: as execvp(3) and shells do
    arguments[0] = *program;
    arguments.insert(arguments.begin(), "/bin/sh");
    ::execve("/bin/sh", pointers(arguments).data(), pointers(entries).data());
  }
  return fail_errno(error_number, "run", *program).value();
}

int exec_exit_code(const Error& error) { return error.kind == ErrorKind::not_found ? 127 : 126; }

}  // namespace pinstep
