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

bool assign_number(std::uint32_t& target, std::string_view value, std::uint32_t least, std::uint32_t most) {
  const auto number = parse_number<std::uint32_t>(value);
  if (!number || *number < least || *number > most) return false;
  target = *number;
  return true;
}

template <class Duration>
bool assign_duration(Duration& target, std::string_view value, std::uint32_t least, std::uint32_t most) {
  std::uint32_t number = 0;
  if (!assign_number(number, value, least, most)) return false;
  target = Duration(number);
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

// Absolute, or so once a variable is known.
bool is_expandable_path(std::string_view value) {
  return value.starts_with('/') || value.starts_with("~/") || value.starts_with('$');
}

bool assign_expandable_path(std::string& target, std::string_view value) {
  if (!value.empty() && !is_expandable_path(value)) return false;
  target = value;
  return true;
}

bool assign_store(std::string& target, std::string_view value) {
  const auto paths = split(value, ':');
  if (!value.empty() && !std::all_of(paths.begin(), paths.end(), is_expandable_path)) return false;
  target = value;
  return true;
}

bool assign_channel(std::map<std::string, std::string>& target, std::string_view name, std::string_view value) {
  const auto of_a_name = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' || c == '_' ||
           c == '-';
  };
  const bool url = value.find("://") != std::string_view::npos;
  if (name.empty() || !std::all_of(name.begin(), name.end(), of_a_name)) return false;
  if ((!url && !is_expandable_path(value)) || value.find_first_of(" \t") != std::string_view::npos)
    return false;
  target[std::string(name)] = value;
  return true;
}

bool assign_flag(bool& target, std::string_view value, std::string_view no, std::string_view yes) {
  if (value != no && value != yes) return false;
  target = value == yes;
  return true;
}

constexpr std::array<std::string_view, 2> kUserSiteWords{"off", "keep"};
constexpr std::array<std::string_view, 3> kPythonPathWords{"entry", "clear", "keep"};
constexpr std::array<std::string_view, 2> kClearOrKeepWords{"clear", "keep"};
constexpr std::array<std::string_view, 2> kSetupWords{"auto", "never"};
constexpr std::array<std::string_view, 3> kLockWords{"auto", "frozen", "update"};
constexpr std::array<std::string_view, 3> kBuildWords{"submit", "job", "never"};

constexpr std::string_view kChannelKeys = "channel.";
constexpr std::string_view kChannelFamily = "channel.NAME";

struct Rule {
  Key key;
  // false: not a value of this key. None for channel.NAME, which assign() sees to.
  std::function<bool(Settings&, std::string_view)> assign;
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
      {{"store", SetBy::anyone, "absolute paths separated by ':', which may begin with ~ or a variable", "",
        "directories of environments: the first that can be written to is built into, all are "
        "searched"},
       [](Settings& s, std::string_view v) { return assign_store(s.store, v); }},
      {{kChannelFamily, SetBy::anyone, "a URL or an absolute path", "", "where the channel NAME is"}, nullptr},
      {{"solver", SetBy::anyone, "an absolute path, which may begin with ~ or a variable", "",
        "directory of the solver"},
       [](Settings& s, std::string_view v) { return assign_expandable_path(s.solver, v); }},
      {{"setup", SetBy::anyone, "auto or never", "auto", "whether a missing solver is set up on a terminal"},
       [](Settings& s, std::string_view v) { return assign_word(s.setup, v, kSetupWords); }},
      {{"lock", SetBy::anyone, "auto, frozen or update", "auto",
        "what is done about the lock of a spec: made where there is none, only used, or always made anew"},
       [](Settings& s, std::string_view v) { return assign_word(s.lock, v, kLockWords); }},
      {{"build", SetBy::anyone, "submit, job or never", "submit",
        "where a missing environment is built: at submission, in the job, or nowhere"},
       [](Settings& s, std::string_view v) { return assign_word(s.build, v, kBuildWords); }},
      {{"profile", SetBy::anyone, "a name, or an absolute path, which may begin with ~ or a variable", "",
        "what the nodes offer: name or file of a profile"},
       [](Settings& s, std::string_view v) {
         if (v.find('/') == std::string_view::npos && !v.starts_with('$')) return s.profile = v, true;
         return assign_expandable_path(s.profile, v);
       }},
      {{"lint_ignore", SetBy::anyone, "names separated by commas", "", "rules that pinstep lint leaves out"},
       [](Settings& s, std::string_view v) { return s.lint_ignore = v, true; }},
      {{"lease_days", SetBy::anyone, "1 to 3650 (days)", "60",
        "how long a job that was submitted and has not started keeps its environment from pinstep gc"},
       [](Settings& s, std::string_view v) { return assign_number(s.lease_days, v, 1, 3650); }},
      {{"compile", SetBy::anyone, "yes or no", "yes", "whether Python sources are compiled in a build"},
       [](Settings& s, std::string_view v) { return assign_flag(s.compile, v, "no", "yes"); }},
      {{"jobs", SetBy::anyone, "0 to 1024", "0", "threads and processes of a build; 0: one for each processor"},
       [](Settings& s, std::string_view v) { return assign_number(s.jobs, v, 0, 1024); }},
  };
  return table;
}

bool assign_by(const Rule& rule, Settings& settings, const Assignment& assignment) {
  if (rule.assign) return rule.assign(settings, assignment.value);
  return assign_channel(settings.channels, std::string_view(assignment.key).substr(kChannelKeys.size()),
                        assignment.value);
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
    if (key.set_by != SetBy::anyone || key.name == kChannelFamily) continue;
    const std::string name = variable_name(key.name);
    if (const auto value = environment.get(name))
      assignments.push_back({std::string(key.name), std::string(*value), false, name});
  }
  return assignments;
}

Result<void> assign(Settings& settings, const Assignment& assignment, SetBy by) {
  const std::string_view name =
      assignment.key.starts_with(kChannelKeys) ? kChannelFamily : std::string_view(assignment.key);
  const auto rule = std::find_if(rules().begin(), rules().end(),
                                 [&](const Rule& candidate) { return candidate.key.name == name; });
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
  if (!assign_by(*rule, settings, assignment))
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
