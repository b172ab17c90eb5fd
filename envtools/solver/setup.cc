#include "envtools/solver/setup.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <filesystem>
#include <random>

#include "envtools/base/fd.h"
#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "envtools/hash/hash.h"

namespace pinstep {
namespace {

namespace fs = std::filesystem;

// What the pinned wheels need, and what Debian's python lacks without python3-venv.
constexpr const char* kPythonCheck = "import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 10))";
constexpr std::array kPythonNames{"python3",    "python3.15", "python3.14", "python3.13",
                                  "python3.12", "python3.11", "python3.10"};
constexpr std::size_t kRequirementsLimit = 64 << 10;  // bytes
constexpr std::size_t kOutputLimit = 1 << 20;         // bytes, of pip

// pip's settings that name the index stay; those that would install elsewhere go, and so does what would
// get into the venv's python.
Environment environment_for_pip(const Environment& environment) {
  Environment result = environment;
  for (const char* name :
       {"PIP_PREFIX", "PIP_ROOT", "PIP_TARGET", "PIP_USER", "PIP_REQUIREMENT", "PIP_CONSTRAINT",
        "PIP_NO_BINARY", "PYTHONHOME", "PYTHONPATH", "VIRTUAL_ENV", "__PYVENV_LAUNCHER__"})
    result.unset(name);
  result.set("PIP_DISABLE_PIP_VERSION_CHECK", "1");
  result.set("PIP_NO_INPUT", "1");
  return result;
}

Result<std::string> find_python(const Environment& environment) {
  bool found = false;
  for (const char* name : kPythonNames) {
    const auto end = run({{name, "-E", "-s", "-c", kPythonCheck}, environment, "", true}, kOutputLimit);
    if (end && end->exit_code == 0 && end->signal == 0) return std::string(name);
    found = found || end.has_value();
  }
  return fail(ErrorKind::not_found,
              found ? "no python on PATH is 3.10 or newer and can make a venv" : "there is no python3 on PATH",
              "Debian has it in python3 and python3-venv; or use a solver made elsewhere: solver=DIR");
}

// What pip's complaint is about; its last lines that begin with ERROR say it.
Error pip_failure(const CommandResult& end, std::string_view action) {
  std::string reason;
  for (const std::string_view line : split(end.errors, '\n'))
    if (const auto at = line.find("ERROR: "); at != std::string_view::npos && reason.empty())
      reason = trim(line.substr(at + 7));
  if (reason.empty()) reason = last_line(end.errors);
  if (reason.empty()) reason = last_line(end.output);
  const auto says = [&](std::string_view text) { return end.errors.find(text) != std::string::npos; };
  ErrorKind kind = ErrorKind::os;
  std::string hint;
  if (says("DO NOT MATCH THE HASHES")) {
    kind = ErrorKind::corrupt;
    reason = "a wheel is not the one that is pinned";
    hint = "another index or directory may have the right one";
  } else if (says("No space left") || says("quota exceeded")) {
    kind = ErrorKind::no_space;
  } else if (says("NewConnectionError") || says("ConnectTimeout") || says("Max retries") ||
             says("Name or service not known") || says("No matching distribution") || says("SSLError")) {
    kind = ErrorKind::network;
    hint =
        "without a network: 'pinstep setup --download DIR' where there is one, then 'pinstep setup --from DIR'";
  }
  return {kind, std::string(action) + ": " + reason, hint};
}

// Runs python and takes any failure for one of `action`.
Result<void> run_step(const std::vector<std::string>& argv, const Environment& environment,
                      std::string_view action) {
  const auto end = run({argv, environment, "", true}, kOutputLimit);
  if (!end) return tl::unexpected(end.error());
  if (end->exit_code == 0 && end->signal == 0) return {};
  if (end->signal != 0)
    return fail(ErrorKind::os, std::string(action) + ": ended by signal " + std::to_string(end->signal));
  return tl::unexpected(pip_failure(*end, action));
}

// The wheel of "py-rattler==0.28.0 \\": py_rattler-0.28.0-…; empty for lines that name none.
std::string wheel_prefix(std::string_view line) {
  const auto halves = split_once(line, '=');
  if (!halves || line.starts_with('#') || line.starts_with(' ') || !halves->after.starts_with('=')) return {};
  std::string name(trim(halves->before));
  std::replace(name.begin(), name.end(), '-', '_');
  const std::string_view version = halves->after.substr(1);
  return name + "-" + std::string(version.substr(0, version.find_first_of(" ;\\"))) + "-";
}

// pip would say only that there is no such version; a venv would have been made for that.
Result<void> check_wheels(const std::string& directory, std::string_view requirements) {
  constexpr std::string_view kHint =
      "'pinstep setup --download DIR' fetches all of them where there is a network";
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry(directory, error), end; !error && entry != end; entry.increment(error))
    names.push_back(entry->path().filename().string());
  if (error) return fail_errno(error.value(), "read", directory, std::string(kHint));
  for (const std::string_view line : split(requirements, '\n')) {
    const std::string wheel = wheel_prefix(line);
    const bool there = std::any_of(names.begin(), names.end(), [&](const std::string& name) {
      return name.starts_with(wheel) && name.ends_with(".whl");
    });
    if (!wheel.empty() && !there)
      return fail(ErrorKind::not_found, "'" + directory + "' has no wheel '" + wheel + "*.whl'",
                  std::string(kHint));
  }
  return {};
}

std::string new_token() {
  std::random_device device;
  return std::to_string(::getpid()) + "-" + std::to_string(device());
}

// A directory that is gone when this is, unless it is kept.
class Discarded {
 public:
  explicit Discarded(std::string path) : path_(std::move(path)) {}
  ~Discarded() {
    std::error_code ignored;
    if (!path_.empty()) fs::remove_all(path_, ignored);
  }
  Discarded(const Discarded&) = delete;
  Discarded& operator=(const Discarded&) = delete;
  void keep() { path_.clear(); }

 private:
  std::string path_;
};

// A directory that is gone when this is, if nothing is in it.
struct RemovedIfEmpty {
  explicit RemovedIfEmpty(const std::string& path) : path_(path) {}
  ~RemovedIfEmpty() { ::rmdir(path_.c_str()); }
  RemovedIfEmpty(const RemovedIfEmpty&) = delete;
  RemovedIfEmpty& operator=(const RemovedIfEmpty&) = delete;

 private:
  const std::string& path_;
};

Result<void> make_directory(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return fail_errno(error.value(), "make directory", path);
  return {};
}

// What a setup that was killed left, an hour ago or more: no setup takes that long.
void sweep(const std::string& directory, std::string_view stamp) {
  std::error_code ignored;
  const std::string used = fs::read_symlink(directory + "/" + std::string(stamp), ignored).string();
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename().string();
    const auto age = fs::file_time_type::clock::now() - entry.last_write_time(ignored);
    if (name.starts_with(std::string(stamp) + "-") && name != used && age > std::chrono::hours(1))
      fs::remove_all(entry.path(), ignored);
  }
}

// Sets DIR/<stamp> to `name`. True: now; false: somebody else has, and theirs works.
Result<bool> publish(const std::string& directory, std::string_view stamp, const std::string& name) {
  const std::string link = directory + "/" + std::string(stamp);
  if (::symlink(name.c_str(), link.c_str()) == 0) return true;
  if (errno != EEXIST) return fail_errno(errno, "make link", link);
  if (find_solver(directory, stamp)) return false;
  const std::string aside = directory + "/" + name + ".link";
  if (::symlink(name.c_str(), aside.c_str()) != 0 || ::rename(aside.c_str(), link.c_str()) != 0)
    return fail_errno(errno, "make link", link);
  return true;
}

std::vector<std::string> pip_command(const std::string& python, std::string_view verb,
                                     const std::string& requirements) {
  return {python,
          "-E",
          "-s",
          "-m",
          "pip",
          std::string(verb),
          "--quiet",
          "--require-hashes",
          "--only-binary",
          ":all:",
          "--no-deps",
          "-r",
          requirements};
}

}  // namespace

Result<std::string> default_solver_directory(const Environment& environment) {
  const auto state = environment.get("XDG_STATE_HOME");
  if (state && state->starts_with('/')) return std::string(*state) + "/pinstep/solver";
  const auto home = environment.get("HOME");
  if (!home || !home->starts_with('/'))
    return fail(ErrorKind::not_found, "there is no home directory to keep the solver in",
                "set HOME or XDG_STATE_HOME, or name a directory: --dir=DIR");
  return std::string(*home) + "/.local/state/pinstep/solver";
}

std::string solver_stamp(std::string_view requirements) { return sha256_hex(requirements).substr(0, 16); }

std::optional<std::string> find_solver(const std::string& directory, std::string_view stamp) {
  const std::string python = directory + "/" + std::string(stamp) + "/bin/python";
  if (::access(python.c_str(), X_OK) != 0) return std::nullopt;
  return python;
}

Result<SetupResult> set_up_solver(const Environment& environment, const SetupRequest& request) {
  const auto requirements = read_file(request.requirements, kRequirementsLimit, Links::followed);
  if (!requirements) return tl::unexpected(requirements.error());
  const std::string stamp = solver_stamp(requirements->text);
  if (const auto python = find_solver(request.directory, stamp)) return SetupResult{*python, false};

  const Environment own = environment_for_pip(environment);
  const auto base = find_python(own);
  if (!base) return tl::unexpected(base.error());
  if (!request.wheels.empty())
    if (const auto there = check_wheels(request.wheels, requirements->text); !there)
      return tl::unexpected(there.error());
  if (auto made = make_directory(request.directory); !made) return tl::unexpected(made.error());
  const RemovedIfEmpty no_trace(request.directory);
  sweep(request.directory, stamp);
  const std::string name = stamp + "-" + new_token();
  const std::string venv = request.directory + "/" + name;
  Discarded discarded(venv);

  request.progress("making a venv");
  if (auto done = run_step({*base, "-E", "-s", "-m", "venv", venv}, own, "cannot make a venv"); !done)
    return tl::unexpected(done.error());
  request.progress("installing the solver");
  auto command = pip_command(venv + "/bin/python", "install", request.requirements);
  if (!request.wheels.empty()) command.insert(command.end(), {"--no-index", "--find-links", request.wheels});
  if (auto done = run_step(command, own, "cannot install the solver"); !done) {
    if (!request.wheels.empty() && done.error().kind == ErrorKind::network)
      return fail(ErrorKind::not_found, done.error().cause,
                  "the wheels in '" + request.wheels + "': are they for this machine and its python?");
    return tl::unexpected(done.error());
  }
  const auto published = publish(request.directory, stamp, name);
  if (!published) return tl::unexpected(published.error());
  if (*published) discarded.keep();
  return SetupResult{request.directory + "/" + stamp + "/bin/python", *published};
}

Result<void> download_wheels(const Environment& environment, const std::string& requirements,
                             const std::string& directory,
                             const std::function<void(const std::string&)>& progress) {
  const Environment own = environment_for_pip(environment);
  const auto base = find_python(own);
  if (!base) return tl::unexpected(base.error());
  if (auto made = make_directory(directory); !made) return made;
  // The system's python may have no pip; a venv always has one.
  const std::string venv = directory + "/.venv-" + new_token();
  const Discarded discarded(venv);
  progress("making a venv");
  if (auto done = run_step({*base, "-E", "-s", "-m", "venv", venv}, own, "cannot make a venv"); !done)
    return done;
  progress("downloading wheels");
  auto command = pip_command(venv + "/bin/python", "download", requirements);
  command.insert(command.end(), {"--dest", directory});
  return run_step(command, own, "cannot download the solver's wheels");
}

Result<SolverPrograms> find_solver_programs(const Environment& environment, const SolverPlaces& places) {
  const auto requirements =
      read_file(places.scripts + "/requirements.txt", kRequirementsLimit, Links::followed);
  if (!requirements) return tl::unexpected(requirements.error());
  const std::string stamp = solver_stamp(requirements->text);
  if (!places.configured.empty())
    if (auto python = find_solver(places.configured, stamp)) return SolverPrograms{*python, places.scripts};
  const auto own = default_solver_directory(environment);
  if (!own && places.configured.empty()) return tl::unexpected(own.error());
  if (own)
    if (auto python = find_solver(*own, stamp)) return SolverPrograms{*python, places.scripts};
  if (!places.configured.empty())
    return fail(
        ErrorKind::not_found, "'" + places.configured + "' (solver=) has no solver for this version of pinstep",
        "'pinstep setup --dir=" + places.configured + "' adds it, 'pinstep setup' makes one of your own");
  return fail(ErrorKind::not_found, "solving needs the solver, which is not set up yet",
              "'pinstep setup' installs it, about 45 MB of wheels, in " + *own);
}

}  // namespace pinstep
