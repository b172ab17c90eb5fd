#include <algorithm>
#include <array>
#include <optional>

#include "envtools/base/reserved.h"
#include "envtools/record/recorder.h"

namespace pinstep {
namespace {

using Value = std::optional<std::string_view>;

// The shell's own, which change by running it.
bool is_shell_state(std::string_view name) {
  constexpr std::array<std::string_view, 6> kState{"_", "SHLVL", "PWD", "OLDPWD", "BASHOPTS", "SHELLOPTS"};
  return std::find(kState.begin(), kState.end(), name) != kState.end();
}

bool is_function(std::string_view name) { return name.starts_with("BASH_FUNC_"); }

// What scripts keep for deactivation: values from outside, which nobody needs here.
bool is_backup(std::string_view name) { return name.starts_with("CONDA_BACKUP_"); }

std::vector<std::string_view> elements(Value value) {
  std::vector<std::string_view> list = list_elements(value.value_or(""));
  std::erase(list, std::string_view());
  return list;
}

// What was put in front of a ':' list and behind it.
struct Added {
  std::vector<std::string_view> front, back;
};

// Nothing where the list is not found whole in the value after.
std::optional<Added> added_to_list(Value before, Value after) {
  const auto list = elements(before);
  const auto all = elements(after);
  const auto found = std::search(all.begin(), all.end(), list.begin(), list.end());
  if (list.empty() || found == all.end()) return std::nullopt;
  return Added{{all.begin(), found}, {found + static_cast<std::ptrdiff_t>(list.size()), all.end()}};
}

bool gives(const Added& added, Value before, Value after) {
  std::vector<std::string_view> all = added.front;
  for (const std::string_view element : elements(before)) all.push_back(element);
  all.insert(all.end(), added.back.begin(), added.back.end());
  return all == elements(after);
}

class Classifier {
 public:
  Classifier(const Observation& first, const Observation& other, const Observation& preset,
             const std::set<std::string>& names_of_machine)
      : first_(first), other_(other), preset_(preset), names_of_machine_(names_of_machine) {}

  void variable(const std::string& name) {
    if (is_function(name)) return;  // noted where they are listed
    if (is_backup(name)) return;
    if (const auto because = name == "PATH" ? std::nullopt : reserved_because(name))
      return note("'" + name + "' is not recorded: " + std::string(*because));
    const Value before = first_.before.get(name), after = first_.after.get(name);
    const Value preset_before = preset_.before.get(name), preset_after = preset_.after.get(name);
    const bool changed = before != after;
    const bool changed_for_other = other_.before.get(name) != other_.after.get(name);
    if (changed != changed_for_other || (changed && after != other_.after.get(name)))
      return note("'" + name + "' depends on the user or the machine and is not recorded");
    if (!changed) return changed_only_if_set(name, preset_after);
    if (after && names_of_machine_.contains(std::string(*after)))
      return note("'" + name + "' names the machine and is not recorded");
    if (affects_every_program(name))
      note("'" + name + "' is set by the environment, for every program of a step");
    if (after == preset_after) return set_or_unset(name, after);
    const auto added = added_to_list(preset_before, preset_after);
    if (added && gives(*added, before, after)) return add_to_list(name, *added);
    if (name == "PATH" || !after)
      return note("what the activation scripts do to '" + name + "' depends on its value and is not recorded");
    note("'" + name + "' depends on its value outside; recorded as where it has none");
    set_or_unset(name, after);
  }

  Recording take() { return std::move(recording_); }

 private:
  void changed_only_if_set(const std::string& name, Value preset_after) {
    if (!preset_after && !first_.before.get(name)) return set_or_unset(name, std::nullopt);
    note("'" + name + "' is changed by the activation scripts only where it is set, and is not recorded");
  }

  void set_or_unset(const std::string& name, Value value) {
    recording_.edits.push_back({value ? EditOp::set : EditOp::unset, name, std::string(value.value_or(""))});
  }

  void add_to_list(const std::string& name, const Added& added) {
    for (auto element = added.front.rbegin(); element != added.front.rend(); ++element)
      recording_.edits.push_back({EditOp::prepend, name, std::string(*element)});
    for (const std::string_view element : added.back)
      recording_.edits.push_back({EditOp::append, name, std::string(element)});
  }

  void note(std::string text) { recording_.notes.push_back(std::move(text)); }

  const Observation& first_;
  const Observation& other_;
  const Observation& preset_;
  const std::set<std::string>& names_of_machine_;
  Recording recording_;
};

}  // namespace

std::set<std::string> changed_names(const Observation& observation) {
  std::set<std::string> names;
  for (const Edit& edit : diff(observation.before, observation.after))
    if (!is_shell_state(edit.name)) names.emplace(edit.name);
  return names;
}

Recording classify(const Observation& first, const Observation& other, const Observation& preset,
                   const std::set<std::string>& names_of_machine) {
  std::set<std::string> names = changed_names(first);
  names.merge(changed_names(other));
  names.merge(changed_names(preset));
  Classifier classifier(first, other, preset, names_of_machine);
  for (const std::string& name : names) classifier.variable(name);
  return classifier.take();
}

}  // namespace pinstep
