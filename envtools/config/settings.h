// pinstep's settings: one table of keys, and how the places that set them are put together.
//
// Order, later wins: built-in < site file /etc/pinstep/pinstep.conf < plugstack.conf argument <
// ~/.config/pinstep/config < PINSTEP_<KEY> < command line (at a step: the pin). A line `!key=value` in
// the site file is applied last of all. Manual: pinstep.conf(5).
#pragma once

#include <sys/types.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/activation/enter.h"
#include "envtools/base/environment.h"
#include "envtools/base/error.h"

namespace pinstep {

struct Settings {
  std::string address = "%h";                   // name of the master node; %h is Slurm's node name
  std::chrono::seconds task_timeout{20};        // what preparing one task may take
  std::chrono::milliseconds enoent_wait{1000};  // how long an absent activation file is looked for
  std::vector<uid_t> trusted_uids;              // besides the user and root
  std::string pinstep;                          // the CLI that resolves; empty: the installed one
  std::string scancel;                          // empty: the one found at build time
  Policies policies;

  // Of environments. A path may begin with ~/ or $NAME; whoever uses it expands it.
  enum class Setup { automatic, never };
  enum class LockUse { automatic, frozen, update };
  enum class Build { submit, job, never };
  std::string store;                            // paths separated by ':'; empty: in the user's data directory
  std::map<std::string, std::string> channels;  // channel.NAME=URL
  std::string solver;                           // directory made by `pinstep setup`; empty: the user's own
  Setup setup = Setup::automatic;               // whether a missing solver is set up on a terminal
  LockUse lock = LockUse::automatic;
  Build build = Build::submit;
  std::string profile;            // name or file of a profile; empty: the built-in baseline
  std::string lint_ignore;        // names of rules, separated by commas
  std::uint32_t lease_days = 60;  // how long a submission keeps its environment from `pinstep gc`
  bool compile = true;
  std::uint32_t jobs = 0;  // threads and processes of a build; 0: as many as there are processors to use

  bool operator==(const Settings&) const = default;
};

// Who may set a key: root's files only, or the user as well.
enum class SetBy { site, anyone };

struct Key {
  std::string_view name;  // "channel.NAME" stands for any key of that form
  SetBy set_by;
  std::string_view values;  // for messages and the manual
  std::string_view fallback;
  std::string_view meaning;
};
const std::vector<Key>& settings_keys();

// One key=value from one of the places.
struct Assignment {
  std::string key;
  std::string value;
  bool enforced = false;  // `!key=value`
  std::string where;      // "/etc/pinstep/pinstep.conf:3", for messages
};

struct ParsedFile {
  std::vector<Assignment> assignments;
  std::vector<Error> errors;  // lines that are not assignments
};

// Lines `key=value` or `!key=value`; blank lines and lines beginning with '#' are skipped.
ParsedFile parse_settings_file(std::string_view text, std::string_view path);

// A plugstack.conf argument or command-line `key=value`.
Result<Assignment> parse_assignment(std::string_view text, std::string_view where);

// The PINSTEP_<KEY> variables of keys that anyone may set, but channel.NAME. Unknown PINSTEP_* names are not
// ours to judge.
std::vector<Assignment> assignments_from(const Environment& environment);

// Sets one key. Errors: invalid, with the nearest key or the allowed values. Settings are unchanged then.
Result<void> assign(Settings& settings, const Assignment& assignment, SetBy by);

// The assignments that turn the built-in policies into these; what a pin carries.
std::vector<Assignment> changed_policies(const Policies& policies);

// The site's part: file and plugstack arguments. Never fails: a line that is wrong is left out and
// reported, since the caller may be a daemon.
struct SiteSettings {
  Settings settings;
  std::vector<Assignment> enforced;  // to be applied again after the user's
  std::vector<Error> errors;
};
SiteSettings site_settings(const ParsedFile& file, const std::vector<std::string>& plugstack_arguments);

inline constexpr const char* kSiteFile = "/etc/pinstep/pinstep.conf";
inline constexpr const char* kDisableFile = "/etc/pinstep/disable";
inline constexpr std::size_t kSettingsFileLimit = 64 * 1024;  // bytes

}  // namespace pinstep
