#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "envtools/execute/execute.h"
#include "envtools/hash/hash.h"

namespace pinstep {
namespace {

// Run by the stage's python as `-c SCRIPT STAGE JOBS`. Standard input has the sources' paths relative to the
// stage, each ended by a NUL; standard output those of what was made.
//
// Unchecked hashes: the prefix never changes, so python need not look at the source, and times say nothing.
// The file name inside is relative: the compiled form is the same in every prefix, and python puts the real
// name in when it imports. A source that is no python, as some test data, or more than this python can compile
// is left alone; a full disk is not. Whoever interrupts or ends the build hears nothing of it from here.
constexpr const char* kScript = R"(
import sys
sys.path[:] = [entry for entry in sys.path if entry]
import signal
for number in (signal.SIGINT, signal.SIGPIPE):
    signal.signal(number, signal.SIG_DFL)
import errno, os, py_compile, warnings

NO_SPACE = 3
warnings.simplefilter('ignore')
os.chdir(sys.argv[1])
sources = [os.fsdecode(path) for path in sys.stdin.buffer.read().split(b'\0') if path]
jobs = max(1, min(int(sys.argv[2]), len(sources)))


def work(mine):
    for source in mine:
        try:
            made = py_compile.compile(source, dfile=source, doraise=True,
                                      invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        except OSError:
            raise
        except Exception:
            continue
        os.write(1, os.fsencode(made) + b'\0')


def guarded(mine):
    try:
        work(mine)
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            return NO_SPACE
        raise
    return 0


children = []
for i in range(jobs):
    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = guarded(sources[i::jobs])
        except BaseException:
            sys.excepthook(*sys.exc_info())
        finally:
            os._exit(code)
    children.append(child)
codes = [os.waitpid(child, 0)[1] for child in children]
worst = [os.WEXITSTATUS(code) if os.WIFEXITED(code) else 1 for code in codes]
sys.exit(NO_SPACE if NO_SPACE in worst else max(worst))
)";
constexpr int kNoSpace = 3;

constexpr std::size_t kOutputLimit = std::size_t{256} << 20;  // bytes of paths

// Before 3.7 there are no hashes in compiled files.
bool can_hash(const std::string& version) {
  const auto parts = split_once(version, '.');
  const unsigned major = parse_number<unsigned>(parts ? parts->before : version).value_or(0);
  return major > 3 || (major == 3 && parts && parse_number<unsigned>(parts->after).value_or(0) >= 7);
}

// A fixed environment: nothing of the caller's may show in what is made.
Environment compile_environment() {
  return Environment(
      Environment::Variables{{"LC_ALL", "C.UTF-8"}, {"PATH", "/usr/bin:/bin"}, {"PYTHONHASHSEED", "0"}});
}

Result<CommandResult> run_python(const Plan& plan, const std::string& stage, int jobs) {
  std::string sources;
  for (const std::size_t index : plan.compile) sources.append(plan.files[index].path).push_back('\0');
  const std::string python = stage + "/" + plan.python->program;
  return run(
      {{python, "-s", "-S", "-B", "-c", kScript, stage, std::to_string(jobs)}, compile_environment(), sources},
      kOutputLimit);
}

// Mode and times of a file that python wrote, and its digest.
Result<FileState> take_over(const std::string& path, std::int64_t time) {
  const timespec times[] = {{static_cast<time_t>(time), 0}, {static_cast<time_t>(time), 0}};
  struct stat info {};
  if (::chmod(path.c_str(), 0444) != 0 ||
      ::utimensat(AT_FDCWD, path.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0 || ::stat(path.c_str(), &info) != 0)
    return fail_errno(errno, "finish", path);
  auto digest = hash_file(path);
  if (!digest) return tl::unexpected(digest.error());
  return FileState{std::move(*digest), static_cast<std::uint64_t>(info.st_size)};
}

}  // namespace

Result<void> compile_sources(const Plan& plan, const std::string& stage, int jobs, Executed& executed) {
  if (plan.compile.empty() || !plan.python || !can_hash(plan.python->version)) return {};
  auto result = run_python(plan, stage, jobs);
  if (!result) return tl::unexpected(result.error());
  if (result->exit_code == kNoSpace)
    return fail(ErrorKind::no_space, "cannot write compiled python files in '" + stage + "': no space left");
  if (result->exit_code != 0 || result->signal != 0)
    return fail(ErrorKind::corrupt,
                "'" + plan.python->program +
                    "' of the new environment does not compile python files: it ended with " +
                    (result->signal != 0 ? "signal " + std::to_string(result->signal)
                                         : "exit code " + std::to_string(result->exit_code)),
                "its own message is above");
  for (const std::string_view made : split(result->output, '\0')) {
    if (made.empty()) continue;
    auto state = take_over(stage + "/" + std::string(made), plan.time);
    if (!state) return tl::unexpected(state.error());
    executed.compiled.emplace(made, std::move(*state));
  }
  return {};
}

}  // namespace pinstep
