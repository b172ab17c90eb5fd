#include "envtools/config/settings.h"

#include <algorithm>
#include <array>
#include <functional>
#include <span>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

// The words of an enumeration, in the order of its values.
using Words = std::span<const std::string_view>;

template <class Enum>
bool assign_word(Enum& target, std::string_view value, Words words) {
  const auto found = std::find(words.begin(), words.end(), value);
  if (found == words.end()) return false;
  target = static_cast<Enum>(found - words.begin());
  return true;
}

template <class Duration>
bool assign_duration(Duration& target, std::string_view value, std::uint32_t least, std::uint32_t most) {
  const auto number = parse_number<std::uint32_t>(value);
  if (!number || *number < least || *number > most) return false;
  target = Duration(*number);
  return true;
}

bool assign_path(std::string& target, std::string_view value) {
  if (!value.empty() && !value.starts_with('/')) return false;
  target = value;
  return true;
}

std::vector<std::string_view> list_words(std::string_view value) {
  return value.empty() ? std::vector<std::string_view>{} : split(value, ',');
}

bool assign_uids(std::vector<uid_t>& target, std::string_view value) {
  std::vector<uid_t> uids;
  for (const std::string_view word : list_words(value)) {
    const auto uid = parse_number<std::uint32_t>(trim(word));
    if (!uid || *uid == static_cast<uid_t>(-1)) return false;  // -1 is no user
    uids.push_back(*uid);
  }
  target = std::move(uids);
  return true;
}

bool assign_address(std::string& target, std::string_view value) {
  if (value.find("%h") == std::string_view::npos || value.find_first_of(" \t;|") != std::string_view::npos)
    return false;
  target = value;
  return true;
}

constexpr std::array<std::string_view, 2> kUserSiteWords{"off", "keep"};
constexpr std::array<std::string_view, 3> kPythonPathWords{"entry", "clear", "keep"};
constexpr std::array<std::string_view, 2> kClearOrKeepWords{"clear", "keep"};

struct Rule {
  Key key;
  std::function<bool(Settings&, std::string_view)> assign;  // false: not a value of this key
};

const std::vector<Rule>& rules() {
  static const std::vector<Rule> table{
      {{"address", SetBy::site, "a pattern with %h", "%h",
        "name that other nodes reach a node by; %h is its Slurm name"},
       [](Settings& s, std::string_view v) { return assign_address(s.address, v); }},
      {{"task_timeout", SetBy::site, "1 to 600 (seconds)", "20", "what preparing one task may take"},
       [](Settings& s, std::string_view v) { return assign_duration(s.task_timeout, v, 1, 600); }},
      {{"enoent_wait", SetBy::site, "0 to 60000 (milliseconds)", "1000",
        "how long a task looks again for an absent activation file"},
       [](Settings& s, std::string_view v) { return assign_duration(s.enoent_wait, v, 0, 60'000); }},
      {{"trusted_uids", SetBy::site, "user ids separated by commas", "",
        "owners whose prefixes everybody may use, besides root"},
       [](Settings& s, std::string_view v) { return assign_uids(s.trusted_uids, v); }},
      {{"pinstep", SetBy::site, "an absolute path", "", "the pinstep program that submissions call"},
       [](Settings& s, std::string_view v) { return assign_path(s.pinstep, v); }},
      {{"scancel", SetBy::site, "an absolute path", "", "the scancel program that ends a failed step"},
       [](Settings& s, std::string_view v) { return assign_path(s.scancel, v); }},
      {{"user_site", SetBy::anyone, "off or keep", "off",
        "packages below ~/.local: hidden from the environment's Python, or not"},
       [](Settings& s, std::string_view v) { return assign_word(s.policies.user_site, v, kUserSiteWords); }},
      {{"pythonpath", SetBy::anyone, "entry, clear or keep", "entry",
        "PYTHONPATH: cleared where the job's environment enters, in every step, or never"},
       [](Settings& s, std::string_view v) { return assign_word(s.policies.pythonpath, v, kPythonPathWords); }},
      {{"pythonhome", SetBy::anyone, "clear or keep", "clear", "PYTHONHOME: cleared or kept"},
       [](Settings& s, std::string_view v) {
         return assign_word(s.policies.pythonhome, v, kClearOrKeepWords);
       }},
      {{"ld_library_path", SetBy::anyone, "clear or keep", "keep", "LD_LIBRARY_PATH: cleared or kept"},
       [](Settings& s, std::string_view v) {
         return assign_word(s.policies.ld_library_path, v, kClearOrKeepWords);
       }},
  };
  return table;
}

std::string variable_name(std::string_view key) {
  std::string name = "PINSTEP_";
  for (const char c : key) name += static_cast<char>(c >= 'a' && c <= 'z' ? c - 'a' + 'A' : c);
  return name;
}

std::string located(const Assignment& assignment) {
  return assignment.where.empty() ? std::string() : assignment.where + ": ";
}

}  // namespace

const std::vector<Key>& settings_keys() {
  static const std::vector<Key> keys = [] {
    std::vector<Key> list;
    for (const Rule& rule : rules()) list.push_back(rule.key);
    return list;
  }();
  return keys;
}

ParsedFile parse_settings_file(std::string_view text, std::string_view path) {
  ParsedFile file;
  std::size_t number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line);
    if (line.empty() || line.starts_with('#')) continue;
    auto assignment = parse_assignment(line, std::string(path) + ":" + std::to_string(number));
    if (assignment)
      file.assignments.push_back(std::move(*assignment));
    else
      file.errors.push_back(assignment.error());
  }
  return file;
}

Result<Assignment> parse_assignment(std::string_view text, std::string_view where) {
  const bool enforced = text.starts_with('!');
  if (enforced) text.remove_prefix(1);
  const auto halves = split_once(text, '=');
  Assignment assignment{"", "", enforced, std::string(where)};
  if (!halves || trim(halves->before).empty())
    return fail(ErrorKind::invalid, located(assignment) + "'" + std::string(text) + "' is not key=value");
  assignment.key = trim(halves->before);
  assignment.value = trim(halves->after);
  return assignment;
}

std::vector<Assignment> assignments_from(const Environment& environment) {
  std::vector<Assignment> assignments;
  for (const Key& key : settings_keys()) {
    if (key.set_by != SetBy::anyone) continue;
    const std::string name = variable_name(key.name);
    if (const auto value = environment.get(name))
      assignments.push_back({std::string(key.name), std::string(*value), false, name});
  }
  return assignments;
}

Result<void> assign(Settings& settings, const Assignment& assignment, SetBy by) {
  const auto rule = std::find_if(rules().begin(), rules().end(),
                                 [&](const Rule& candidate) { return candidate.key.name == assignment.key; });
  if (rule == rules().end()) {
    std::vector<std::string_view> names;
    for (const Key& key : settings_keys()) names.push_back(key.name);
    const auto near = nearest(assignment.key, names);
    return fail(ErrorKind::invalid, located(assignment) + "there is no setting '" + assignment.key + "'",
                near ? "did you mean '" + std::string(*near) + "'?" : "pinstep.conf(5) has the list");
  }
  if (by == SetBy::anyone && rule->key.set_by == SetBy::site)
    return fail(ErrorKind::invalid, located(assignment) + "'" + assignment.key + "' can be set in " +
                                        kSiteFile + " and plugstack.conf only");
  if (!rule->assign(settings, assignment.value))
    return fail(ErrorKind::invalid,
                located(assignment) + "'" + assignment.value + "' is not a value of '" + assignment.key + "'",
                "it takes " + std::string(rule->key.values));
  return {};
}

std::vector<Assignment> changed_policies(const Policies& policies) {
  const Policies standard;
  std::vector<Assignment> changed;
  const auto add = [&](std::string_view key, auto value, auto fallback, Words words) {
    if (value != fallback)
      changed.push_back({std::string(key), std::string(words[static_cast<std::size_t>(value)]), false, ""});
  };
  add("user_site", policies.user_site, standard.user_site, kUserSiteWords);
  add("pythonpath", policies.pythonpath, standard.pythonpath, kPythonPathWords);
  add("pythonhome", policies.pythonhome, standard.pythonhome, kClearOrKeepWords);
  add("ld_library_path", policies.ld_library_path, standard.ld_library_path, kClearOrKeepWords);
  return changed;
}

SiteSettings site_settings(const ParsedFile& file, const std::vector<std::string>& plugstack_arguments) {
  SiteSettings site;
  site.errors = file.errors;
  const auto apply_one = [&](const Assignment& assignment) {
    const auto done = assign(site.settings, assignment, SetBy::site);
    if (!done) site.errors.push_back(done.error());
    return done.has_value();
  };
  for (const Assignment& assignment : file.assignments)
    if (!assignment.enforced) apply_one(assignment);
  for (const std::string& argument : plugstack_arguments) {
    const auto assignment = parse_assignment(argument, "plugstack.conf");
    if (!assignment)
      site.errors.push_back(assignment.error());
    else if (assignment->enforced)
      site.errors.push_back({ErrorKind::invalid, "plugstack.conf: '" + argument + "' cannot be enforced here",
                             std::string("put it into ") + kSiteFile});
    else
      apply_one(*assignment);
  }
  for (const Assignment& assignment : file.assignments)
    if (assignment.enforced && apply_one(assignment)) site.enforced.push_back(assignment);
  return site;
}

}  // namespace pinstep
