#include "envtools/base/environment.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

constexpr std::array<std::pair<EditOp, std::string_view>, 5> kOps{{
    {EditOp::set, "set"},
    {EditOp::unset, "unset"},
    {EditOp::prepend, "prepend"},
    {EditOp::append, "append"},
    {EditOp::remove, "remove"},
}};

std::string join_list(const std::vector<std::string_view>& elements) {
  std::string list;
  for (std::size_t i = 0; i < elements.size(); ++i) {
    if (i != 0) list += ':';
    list += elements[i];
  }
  return list;
}

void edit_list(Environment& environment, const Edit& edit, Prepend prepend) {
  const std::string before(environment.get(edit.name).value_or(""));
  std::vector<std::string_view> elements = list_elements(before);
  const bool present = std::find(elements.begin(), elements.end(), edit.value) != elements.end();
  const bool stays =
      edit.op == EditOp::append || (edit.op == EditOp::prepend && prepend == Prepend::keeps_its_place);
  if (present && stays) return;

  std::erase(elements, edit.value);
  if (edit.op == EditOp::prepend) elements.insert(elements.begin(), edit.value);
  if (edit.op == EditOp::append) elements.push_back(edit.value);
  const std::string after = join_list(elements);
  // A single empty element cannot be told from none.
  if (after.empty())
    environment.unset(edit.name);
  else
    environment.set(edit.name, after);
}

}  // namespace

Environment Environment::from(const char* const* entries) {
  Environment environment;
  for (; entries != nullptr && *entries != nullptr; ++entries) {
    const auto halves = split_once(*entries, '=');
    if (halves && !halves->before.empty()) environment.variables_.emplace(halves->before, halves->after);
  }
  return environment;
}

std::optional<std::string_view> Environment::get(std::string_view name) const {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return std::nullopt;
  return found->second;
}

void Environment::set(std::string_view name, std::string_view value) {
  const auto found = variables_.find(name);
  if (found == variables_.end())
    variables_.emplace(name, value);
  else
    found->second = value;
}

void Environment::unset(std::string_view name) {
  const auto found = variables_.find(name);
  if (found != variables_.end()) variables_.erase(found);
}

std::vector<std::string> Environment::entries() const {
  std::vector<std::string> entries;
  entries.reserve(variables_.size());
  for (const auto& [name, value] : variables_) entries.push_back(name + "=" + value);
  return entries;
}

std::string_view to_string(EditOp op) { return kOps[static_cast<std::size_t>(op)].second; }

std::optional<EditOp> parse_edit_op(std::string_view name) {
  for (const auto& [op, text] : kOps)
    if (text == name) return op;
  return std::nullopt;
}

void apply(Environment& environment, const Edit& edit, Prepend prepend) {
  switch (edit.op) {
    case EditOp::set:
      environment.set(edit.name, edit.value);
      return;
    case EditOp::unset:
      environment.unset(edit.name);
      return;
    case EditOp::prepend:
    case EditOp::append:
    case EditOp::remove:
      edit_list(environment, edit, prepend);
      return;
  }
}

std::vector<Edit> diff(const Environment& before, const Environment& after) {
  std::vector<Edit> edits;
  auto old = before.begin();
  auto now = after.begin();
  while (old != before.end() || now != after.end()) {
    if (now == after.end() || (old != before.end() && old->first < now->first)) {
      edits.push_back({EditOp::unset, old->first, {}});
      ++old;
    } else if (old == before.end() || now->first < old->first) {
      edits.push_back({EditOp::set, now->first, now->second});
      ++now;
    } else {
      if (old->second != now->second) edits.push_back({EditOp::set, now->first, now->second});
      ++old;
      ++now;
    }
  }
  return edits;
}

std::vector<std::string_view> list_elements(std::string_view list) {
  if (list.empty()) return {};
  return split(list, ':');
}

Result<std::string> expand_variables(std::string_view text, const Environment& environment) {
  std::string result;
  const auto append = [&](std::string_view name) -> Result<void> {
    const auto value = environment.get(name);
    if (!value || value->empty())
      return fail(ErrorKind::invalid,
                  "'" + printable(text) + "' needs the variable '" + printable(name) + "', which is not set");
    result += *value;
    return {};
  };
  std::string_view rest = text;
  if (rest == "~" || rest.starts_with("~/")) {
    if (const auto done = append("HOME"); !done) return tl::unexpected(done.error());
    rest.remove_prefix(1);
  }
  while (!rest.empty()) {
    const std::size_t dollar = std::min(rest.find('$'), rest.size());
    result += rest.substr(0, dollar);
    rest.remove_prefix(dollar);
    if (rest.empty()) break;
    const bool braces = rest.starts_with("${");
    rest.remove_prefix(braces ? 2 : 1);
    const auto name_end = std::find_if(rest.begin(), rest.end(), [](char c) {
      return !((c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_');
    });
    const std::string_view name = rest.substr(0, static_cast<std::size_t>(name_end - rest.begin()));
    rest.remove_prefix(name.size());
    if (name.empty() || (braces && !rest.starts_with('}')))
      return fail(ErrorKind::invalid, "'" + printable(text) + "' has a '$' that no variable follows");
    if (braces) rest.remove_prefix(1);
    if (const auto done = append(name); !done) return tl::unexpected(done.error());
  }
  return result;
}

}  // namespace pinstep
