#include "envtools/record/recorder.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/record/guard.h"
#include "envtools/record/shell.h"

namespace pinstep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kAnswerLimit = 16 << 20;  // bytes of an environment
constexpr std::size_t kFileLimit = 1 << 20;     // bytes of a file of env_vars.d
constexpr int kTimeLimit = 30;                  // seconds, for one run of all scripts
constexpr int kCannotRun = 126;                 // the shell's word
constexpr std::string_view kEndOfRemarks = "\1\n";

// The scripts are sourced without arguments, as conda does. The answers go into files that have numbers only:
// remarks are the host's name, names of shell functions and a mark; the environment is as env(1) -0 has it.
// A script may have defined functions with the names of builtins, and a trap that prints.
constexpr const char* kScript = R"(cd "$1" || exit
printf '%s\n' "$HOSTNAME" >&101
shift
__pinstep_scripts=("$@")
set --
for __pinstep_script in "${__pinstep_scripts[@]}"; do . "$__pinstep_script"; done
builtin set +eu
builtin trap - DEBUG ERR EXIT
builtin compgen -A function >&101
builtin printf '\1\n' >&101
/usr/bin/env -0 >&100)";
static_assert(kEnvironmentFd == 100 && kRemarksFd == 101);

std::vector<std::string> files_in(const std::string& directory, std::string_view ending) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) {
    std::string name = entry.path().filename().string();
    if (name.ends_with(ending)) names.push_back(std::move(name));
  }
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::map<std::string, std::string>> read_env_vars(const std::string& directory) {
  std::map<std::string, std::string> texts;
  for (const std::string& name : files_in(directory, ".json")) {
    auto file = read_file(directory + "/" + name, kFileLimit, Links::followed);
    if (!file) return tl::unexpected(file.error());
    texts[name] = std::move(file->text);
  }
  return texts;
}

std::string replace_all(std::string_view text, std::string_view from, std::string_view to) {
  std::string out;
  for (std::size_t at = 0;;) {
    const std::size_t found = text.find(from, at);
    out += text.substr(at, found - at);
    if (found == std::string_view::npos) return out;
    out += to;
    at = found + from.size();
  }
}

// Every value with the directory where the tree lies now replaced by where it will lie.
Environment moved(const Environment& environment, const RecordRequest& request) {
  Environment result;
  for (const auto& [name, value] : environment)
    result.set(name, replace_all(value, request.directory, request.prefix));
  return result;
}

// Somebody who activates: what differs from user to user, and from place to place.
struct Somebody {
  const char* directory;
  Circumstances circumstances;
  Environment::Variables variables;
};

Somebody usual() {
  return {"/",
          Circumstances::usual,
          {{"HOME", "/nonexistent/pinstep-a"},
           {"USER", "pinstep-a"},
           {"LOGNAME", "pinstep-a"},
           {"SHELL", "/bin/bash"},
           {"TERM", "dumb"},
           {"LANG", "C"}}};
}

constexpr std::string_view kOtherHost = "pinstep-b";

Somebody other() {
  return {"/usr",
          Circumstances::unusual,
          {{"HOME", "/nonexistent/pinstep-b"},
           {"USER", "pinstep-b"},
           {"LOGNAME", "pinstep-b"},
           {"SHELL", "/bin/sh"},
           {"TERM", "xterm"},
           {"LANG", "C.UTF-8"},
           {"TMPDIR", "/var/tmp"}}};
}

Environment clean_environment(const Somebody& somebody, const std::vector<RecordedEdit>& edits) {
  Environment environment(somebody.variables);
  environment.set("PATH", "/usr/local/bin:/usr/bin:/bin");
  for (const RecordedEdit& edit : edits) apply(environment, {edit.op, edit.name, edit.value});
  return environment;
}

// Lists that scripts look at before they do something to them, or to other variables.
constexpr std::array<const char*, 12> kUsualLists{
    "LD_LIBRARY_PATH", "LIBRARY_PATH", "CPATH",         "PYTHONPATH",      "MANPATH",  "INFOPATH",
    "PKG_CONFIG_PATH", "ACLOCAL_PATH", "XDG_DATA_DIRS", "XDG_CONFIG_DIRS", "PERL5LIB", "CMAKE_PREFIX_PATH"};

// Values that no script can expect.
void preset(Environment& environment, const std::set<std::string>& names) {
  std::set<std::string> all = names;
  all.insert(kUsualLists.begin(), kUsualLists.end());
  for (const std::string& name : all)
    if (!environment.has(name) && !name.starts_with("BASH_FUNC_") && name != "LD_PRELOAD")
      environment.set(name, "/pinstep-outside/a:/pinstep-outside/b");
  environment.set("PATH", std::string(environment.get("PATH").value_or("")) + ":/pinstep-outside/bin");
}

class Runner {
 public:
  Runner(const RecordRequest& request, std::vector<std::string> scripts)
      : request_(request), scripts_(std::move(scripts)) {}

  Result<Observation> run_in(const Environment& before, const Somebody& somebody) {
    ShellRun run{{"/bin/bash", "--noprofile", "--norc", "-p", "-c", kScript, "activate", somebody.directory},
                 before,
                 somebody.circumstances,
                 kTimeLimit};
    run.argv.insert(run.argv.end(), scripts_.begin(), scripts_.end());
    const auto end = run_shell(run, kAnswerLimit);
    if (!end) return tl::unexpected(end.error());
    const std::size_t mark = end->remarks.find(kEndOfRemarks);
    const bool complete = end->environment.ends_with('\0') && end->environment.size() <= kAnswerLimit;
    if (end->timed_out || end->signal != 0 || end->exit_code != 0 || !complete)
      return tl::unexpected(what_went_wrong(*end, mark != std::string::npos));
    note_remarks(std::string_view(end->remarks).substr(0, mark));
    return Observation{moved(before, request_), moved(parse(end->environment), request_)};
  }

  const std::set<std::string>& functions() const { return functions_; }
  // Of the last run.
  const std::string& host() const { return host_; }

 private:
  static Environment parse(const std::string& output) {
    std::vector<const char*> entries;
    for (std::size_t at = 0; at < output.size(); at = output.find('\0', at) + 1)
      entries.push_back(output.c_str() + at);
    entries.push_back(nullptr);
    return Environment::from(entries.data());
  }

  Error what_went_wrong(const ShellEnd& end, bool sourced) const {
    const std::string scripts = "the environment's activation scripts ";
    const std::string hint = "the scripts are " + names();
    if (end.timed_out)
      return {ErrorKind::timed_out, scripts + "did not end in " + std::to_string(kTimeLimit) + " seconds",
              hint};
    if (end.signal != 0)
      return {ErrorKind::corrupt, scripts + "were ended by signal " + std::to_string(end.signal), hint};
    if (sourced && end.exit_code == kCannotRun)
      return {ErrorKind::corrupt, scripts + "leave an environment that is too large to start a program in",
              hint};
    return {ErrorKind::corrupt, scripts + "end the shell that sources them", hint};
  }

  void note_remarks(std::string_view lines) {
    const auto halves = split_once(lines, '\n');
    host_ = halves ? halves->before : "";
    for (const std::string_view name : split(halves ? halves->after : "", '\n'))
      if (!name.empty()) functions_.emplace(name);
  }

  std::string names() const {
    std::string list;
    for (const std::string& script : scripts_)
      list += (list.empty() ? "'" : ", '") + printable(fs::path(script).filename().string()) + "'";
    return list;
  }

  const RecordRequest& request_;
  std::vector<std::string> scripts_;
  std::set<std::string> functions_;
  std::string host_;
};

// What names this machine and could not be made to differ.
std::set<std::string> names_of_machine(bool host_differed) {
  std::set<std::string> names;
  utsname machine{};
  if (::uname(&machine) != 0) return names;
  names.insert({machine.release, machine.version});
  if (host_differed) return names;
  const std::string host = machine.nodename;
  names.insert({host, host.substr(0, host.find('.'))});
  return names;
}

Result<Recording> record_scripts(const RecordRequest& request, std::vector<std::string> scripts,
                                 const std::vector<RecordedEdit>& edits) {
  Runner runner(request, std::move(scripts));
  const auto first = runner.run_in(clean_environment(usual(), edits), usual());
  if (!first) return tl::unexpected(first.error());
  const auto second = runner.run_in(clean_environment(other(), edits), other());
  if (!second) return tl::unexpected(second.error());
  const bool host_differed = runner.host() == kOtherHost;
  Environment before = clean_environment(usual(), edits);
  preset(before, changed_names(*first));
  const auto with_values = runner.run_in(before, usual());
  if (!with_values) return tl::unexpected(with_values.error());

  Recording recording = classify(*first, *second, *with_values, names_of_machine(host_differed));
  for (const std::string& name : runner.functions())
    recording.notes.push_back("the shell function '" + name + "' is not recorded");
  return recording;
}

// As above, and the tree is the same afterwards.
Result<Recording> record_on_guarded_tree(const RecordRequest& request, std::vector<std::string> scripts,
                                         const std::vector<RecordedEdit>& edits) {
  auto tree = GuardedTree::guard(request.directory);
  if (!tree) return tl::unexpected(tree.error());
  auto effect = record_scripts(request, std::move(scripts), edits);
  if (auto same = tree->release(); !same) return tl::unexpected(same.error());
  return effect;
}

}  // namespace

Result<Recording> record_activation(const RecordRequest& request) {
  const auto env_vars = read_env_vars(request.directory + "/etc/conda/env_vars.d");
  if (!env_vars) return tl::unexpected(env_vars.error());
  auto recording = plain_edits(request.prefix, *env_vars, request.variables);
  if (!recording) return recording;
  const std::string directory = request.directory + "/etc/conda/activate.d";
  std::vector<std::string> scripts;
  for (const std::string& name : files_in(directory, ".sh")) scripts.push_back(directory + "/" + name);
  if (!scripts.empty()) {
    // The scripts are to see the tree where it is.
    const auto here = plain_edits(request.directory, *env_vars, request.variables);
    if (!here) return here;
    auto effect = record_on_guarded_tree(request, std::move(scripts), here->edits);
    if (!effect) return effect;
    recording->edits.insert(recording->edits.end(), effect->edits.begin(), effect->edits.end());
    recording->notes.insert(recording->notes.end(), effect->notes.begin(), effect->notes.end());
  }
  return recording;
}

}  // namespace pinstep
