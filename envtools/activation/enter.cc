#include "envtools/activation/enter.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <set>

#include "envtools/base/text.h"
#include "envtools/base/variables.h"

namespace pinstep {
namespace {

// What bash and execvp fall back to; sbatch --export=NONE gives steps no PATH at all.
constexpr std::string_view kBasePath = "/usr/local/bin:/usr/bin:/bin";
constexpr std::string_view kUndoSpecial = ";,";
// Bytes of PINSTEP_STEP_UNDO. The kernel refuses to start a program with a variable of 128 KiB.
constexpr std::size_t kUndoLimit = 64 * 1024;

std::string hash_text(std::string_view value) {
  char text[9];
  std::snprintf(text, sizeof text, "%08x", fnv1a(value));
  return text;
}

// State that `activate` of conda, venv or pixi leaves; names ending in '*' are beginnings.
constexpr std::array<std::string_view, 11> kLeftovers{
    "CONDA_PREFIX",   "CONDA_PREFIX_*",     "CONDA_DEFAULT_ENV", "CONDA_PROMPT_MODIFIER",
    "CONDA_SHLVL",    "CONDA_STACKED_*",    "VIRTUAL_ENV",       "VIRTUAL_ENV_PROMPT",
    "PIXI_PROJECT_*", "PIXI_ENVIRONMENT_*", "PIXI_IN_SHELL",
};

bool matches(std::string_view name, std::string_view pattern) {
  if (!pattern.ends_with('*')) return name == pattern;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool is_leftover(std::string_view name) {
  return std::any_of(kLeftovers.begin(), kLeftovers.end(),
                     [&](std::string_view pattern) { return matches(name, pattern); });
}

bool names_a_prefix(std::string_view name) {
  return name == "VIRTUAL_ENV" || name == "CONDA_PREFIX" || name.starts_with("CONDA_PREFIX_");
}

// ---- undo records -------------------------------------------------------------------------------

class UndoWriter {
 public:
  void list_element(std::string_view name, std::string_view element) { add('l', name, element); }

  // `before` is the value our edit replaced, `now` the one it set; nothing means unset.
  void scalar(std::string_view name, std::optional<std::string_view> before,
              std::optional<std::string_view> now) {
    const std::string mark = now ? hash_text(*now) : "-";
    if (before)
      add('r', name, mark, *before);
    else if (now)
      add('u', name, mark);
  }

  std::string text;

 private:
  // What finds no room stays as it is when the prefix is left.
  template <class... Fields>
  void add(char kind, const Fields&... fields) {
    std::string record(1, kind);
    ((record += ',', record += percent_encode(fields, kUndoSpecial)), ...);
    if (text.size() + 1 + record.size() > kUndoLimit) return;
    if (!text.empty()) text += ';';
    text += record;
  }
};

void undo_scalar(Environment& environment, std::string_view name, std::string_view mark,
                 std::optional<std::string_view> before) {
  const auto current = environment.get(name);
  const bool still_ours = mark == "-" ? !current : current && hash_text(*current) == mark;
  if (!still_ours) return;
  if (before)
    environment.set(name, *before);
  else
    environment.unset(name);
}

// Nothing for a record that we cannot have written: broken, or with a name or value that no environment
// can hold.
std::vector<std::string> undo_fields(std::string_view record) {
  std::vector<std::string> fields;
  for (const std::string_view field : split(record, ',')) {
    auto decoded = percent_decode(field);
    if (!decoded || decoded->find('\0') != std::string::npos) return {};
    fields.push_back(std::move(*decoded));
  }
  if (fields.size() < 3 || fields[1].empty() || fields[1].find('=') != std::string::npos) return {};
  return fields;
}

// A record that we cannot have written is skipped: the variable is the user's to break.
void undo_record(Environment& environment, std::string_view record) {
  const std::vector<std::string> fields = undo_fields(record);
  if (fields.size() == 3 && fields[0] == "l" && !fields[2].empty())
    apply(environment, {EditOp::remove, fields[1], fields[2]});
  else if (fields.size() == 3 && fields[0] == "u")
    undo_scalar(environment, fields[1], fields[2], std::nullopt);
  else if (fields.size() == 4 && fields[0] == "r")
    undo_scalar(environment, fields[1], fields[2], fields[3]);
}

// ---- entering -----------------------------------------------------------------------------------

bool is_scalar(const Edit& edit) { return edit.op == EditOp::set || edit.op == EditOp::unset; }

void clear_paths(Environment& environment, const Policies& policies, Arrival arrival) {
  const bool at_entry = policies.pythonpath == Policies::PythonPath::entry && arrival == Arrival::entry;
  if (at_entry || policies.pythonpath == Policies::PythonPath::clear) environment.unset("PYTHONPATH");
  if (policies.ld_library_path == Policies::ClearOrKeep::clear) environment.unset("LD_LIBRARY_PATH");
}

// Variables that some edit sets or unsets as a whole.
std::set<std::string_view> whole_variables(const std::vector<Edit>& edits) {
  std::set<std::string_view> names;
  for (const Edit& edit : edits)
    if (is_scalar(edit)) names.insert(edit.name);
  return names;
}

bool has_element(const Environment& environment, const Edit& edit) {
  const auto elements = list_elements(environment.get(edit.name).value_or(""));
  return std::find(elements.begin(), elements.end(), edit.value) != elements.end();
}

// What takes the edits back that led from `before` to `after`. A variable that was set as a whole goes
// back as a whole, whatever else was done to it; of a list, what was not in it before.
std::string undo_text(const Environment& before, const Environment& after, const std::vector<Edit>& edits) {
  UndoWriter undo;
  const auto whole = whole_variables(edits);
  for (const std::string_view name : whole) undo.scalar(name, before.get(name), after.get(name));
  for (const Edit& edit : edits)
    if (!whole.contains(edit.name) && edit.op != EditOp::remove && !has_element(before, edit))
      undo.list_element(edit.name, edit.value);
  return undo.text;
}

// First time in this prefix: every edit, and the record of how to take them back.
void enter_anew(Environment& environment, const Entrance& entrance) {
  if (entrance.policies.pythonhome == Policies::ClearOrKeep::clear) environment.unset("PYTHONHOME");

  const Environment before = environment;
  std::vector<Edit> edits;
  if (entrance.policies.user_site == Policies::UserSite::off)
    edits.push_back({EditOp::set, "PYTHONNOUSERSITE", "1"});
  edits.insert(edits.end(), entrance.activation.edits().begin(), entrance.activation.edits().end());
  if (!entrance.own_bin.empty()) edits.push_back({EditOp::append, "PATH", entrance.own_bin});
  for (const Edit& edit : edits) apply(environment, edit);
  environment.set(variable::kStepUndo, undo_text(before, environment, edits));
}

void restore_lost_elements(Environment& environment, const Entrance& entrance) {
  const auto whole = whole_variables(entrance.activation.edits());
  if (!entrance.own_bin.empty()) apply(environment, {EditOp::append, "PATH", entrance.own_bin});
  for (const Edit& edit : entrance.activation.edits())
    if (!whole.contains(edit.name) && edit.op != EditOp::remove)
      apply(environment, edit, Prepend::keeps_its_place);
}

}  // namespace

Environment enter(Environment environment, const Entrance& entrance) {
  if (entrance.arrival == Arrival::entry) environment = without_leftovers(std::move(environment));
  const bool is_inside = environment.get(variable::kStepPrefix) == entrance.prefix &&
                         environment.get(variable::kStepEnv) == entrance.activation.id();
  if (!is_inside && environment.has(variable::kStepPrefix)) environment = leave(std::move(environment));

  clear_paths(environment, entrance.policies, entrance.arrival);
  if (environment.get("PATH").value_or("").empty()) environment.set("PATH", kBasePath);
  if (is_inside)
    restore_lost_elements(environment, entrance);
  else
    enter_anew(environment, entrance);

  environment.set(variable::kStepPrefix, entrance.prefix);
  environment.set(variable::kStepEnv, entrance.activation.id());
  return environment;
}

Environment leave(Environment environment) {
  const std::string undo(environment.get(variable::kStepUndo).value_or(""));
  for (const std::string_view record : split(undo, ';')) undo_record(environment, record);

  std::vector<std::string> ours;
  for (const auto& [name, value] : environment)
    if (name.starts_with(variable::kStepPrefixOfNames)) ours.push_back(name);
  for (const std::string& name : ours) environment.unset(name);
  return environment;
}

Environment without_leftovers(Environment environment) {
  environment = leave(std::move(environment));
  std::vector<std::string> names;
  std::vector<std::string> directories;
  for (const auto& [name, value] : environment) {
    if (is_leftover(name)) names.push_back(name);
    if (names_a_prefix(name) && !value.empty()) directories.push_back(value + "/bin");
  }
  for (const std::string& directory : directories) apply(environment, {EditOp::remove, "PATH", directory});
  for (const std::string& name : names) environment.unset(name);
  return environment;
}

}  // namespace pinstep
