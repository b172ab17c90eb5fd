#include "envtools/record/recorder.h"

#include <algorithm>
#include <array>
#include <filesystem>

#include "envtools/base/fd.h"
#include "envtools/base/process.h"
#include "envtools/base/text.h"

namespace pinstep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kAnswerLimit = 16 << 20;  // bytes of an environment
constexpr std::size_t kFileLimit = 1 << 20;     // bytes of a file of env_vars.d
constexpr const char* kTimeLimit = "30";        // seconds, for one run of all scripts
constexpr int kTimedOut = 124;                  // timeout(1)'s word
constexpr std::string_view kEndOfFunctions = "\1\n";

// What the scripts print goes to standard error. They are sourced without arguments, as conda does. The answer,
// names of shell functions, a mark, and the environment as env(1) -0 has it, goes into a file: what a script
// leaves running could hold a pipe open for ever.
constexpr const char* kScript = R"(exec 1>&2 </dev/null
cd "$1" || exit
__pinstep_answer=$2
shift 2
__pinstep_scripts=("$@")
set --
for __pinstep_script in "${__pinstep_scripts[@]}"; do . "$__pinstep_script"; done
builtin set +eu
exec >|"$__pinstep_answer"
builtin compgen -A function
builtin printf '\1\n'
builtin exec /usr/bin/env -0)";

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
  const char* name;
  const char* directory;
};

Environment clean_environment(const Somebody& somebody, const std::vector<RecordedEdit>& edits) {
  const std::string home = std::string("/nonexistent/") + somebody.name;
  Environment environment({{"PATH", "/usr/local/bin:/usr/bin:/bin"},
                           {"HOME", home},
                           {"USER", somebody.name},
                           {"LOGNAME", somebody.name},
                           {"SHELL", "/bin/bash"},
                           {"TERM", "dumb"},
                           {"LANG", "C"}});
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
    // Its place is taken away again with the stage if this process is killed.
    const std::string answer = request_.directory + "/.activation-answer";
    Command command{{"/usr/bin/timeout", "-k", "1", kTimeLimit, "/bin/bash", "--noprofile", "--norc", "-c",
                     kScript, "activate", somebody.directory, answer},
                    before};
    command.argv.insert(command.argv.end(), scripts_.begin(), scripts_.end());
    const auto done = run(command, 0);
    if (!done) return tl::unexpected(done.error());
    const auto file = read_file(answer, kAnswerLimit);
    std::error_code ignored;
    fs::remove(answer, ignored);
    if (done->exit_code == kTimedOut)
      return fail(ErrorKind::timed_out, "the environment's activation scripts did not end in " +
                                            std::string(kTimeLimit) + " seconds");
    const std::size_t mark = file ? file->text.find(kEndOfFunctions) : std::string::npos;
    if (mark == std::string::npos || done->exit_code != 0)
      return fail(ErrorKind::corrupt, "the environment's activation scripts end the shell that sources them",
                  "the scripts are " + names());
    note_functions(std::string_view(file->text).substr(0, mark));
    return Observation{moved(before, request_),
                       moved(parse(file->text.substr(mark + kEndOfFunctions.size())), request_)};
  }

  const std::set<std::string>& functions() const { return functions_; }

 private:
  static Environment parse(const std::string& output) {
    std::vector<const char*> entries;
    for (std::size_t at = 0; at < output.size(); at = output.find('\0', at) + 1) {
      entries.push_back(output.c_str() + at);
      if (output.find('\0', at) == std::string::npos) break;
    }
    entries.push_back(nullptr);
    return Environment::from(entries.data());
  }

  void note_functions(std::string_view list) {
    for (const std::string_view name : split(list, '\n'))
      if (!name.empty()) functions_.emplace(name);
  }

  std::string names() const {
    std::string list;
    for (const std::string& script : scripts_)
      list += (list.empty() ? "'" : ", '") + fs::path(script).filename().string() + "'";
    return list;
  }

  const RecordRequest& request_;
  std::vector<std::string> scripts_;
  std::set<std::string> functions_;
};

Result<Recording> record_scripts(const RecordRequest& request, std::vector<std::string> scripts,
                                 const std::vector<RecordedEdit>& edits) {
  constexpr Somebody kFirst{"pinstep-a", "/"};
  constexpr Somebody kOther{"pinstep-b", "/usr"};
  Runner runner(request, std::move(scripts));
  const auto first = runner.run_in(clean_environment(kFirst, edits), kFirst);
  if (!first) return tl::unexpected(first.error());
  const auto other = runner.run_in(clean_environment(kOther, edits), kOther);
  if (!other) return tl::unexpected(other.error());
  Environment before = clean_environment(kFirst, edits);
  preset(before, changed_names(*first));
  const auto with_values = runner.run_in(before, kFirst);
  if (!with_values) return tl::unexpected(with_values.error());

  Recording recording = classify(*first, *other, *with_values);
  for (const std::string& name : runner.functions())
    recording.notes.push_back("the shell function '" + name + "' is not recorded");
  return recording;
}

}  // namespace

Result<Recording> record_activation(const RecordRequest& request) {
  const auto env_vars = read_env_vars(request.directory + "/etc/conda/env_vars.d");
  if (!env_vars) return tl::unexpected(env_vars.error());
  auto recording = plain_edits(request.prefix, *env_vars, request.variables);
  const std::string directory = request.directory + "/etc/conda/activate.d";
  std::vector<std::string> scripts;
  for (const std::string& name : files_in(directory, ".sh")) scripts.push_back(directory + "/" + name);
  if (!recording || scripts.empty()) return recording;

  // The scripts are to see the tree where it is.
  const auto here = plain_edits(request.directory, *env_vars, request.variables);
  auto effect = record_scripts(request, std::move(scripts), here->edits);
  if (!effect) return effect;
  recording->edits.insert(recording->edits.end(), effect->edits.begin(), effect->edits.end());
  recording->notes.insert(recording->notes.end(), effect->notes.begin(), effect->notes.end());
  return recording;
}

}  // namespace pinstep
