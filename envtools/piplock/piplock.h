// Locks of Python's own tools: pylock.toml (PEP 751) and uv.lock. They name wheels for many machines and
// versions of Python, but no Python: which wheels are wanted follows from the one that a conda package brings.
//
//   file ─ read ─> packages with markers ─ choose_wheels(Python, platform) ─> wheels of a lock
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"
#include "envtools/lock/lock.h"
#include "envtools/piplock/tags.h"

namespace pinstep {

// What a file is, by content.
enum class PipLockKind { none, pylock, uv, requirements };
PipLockKind pip_lock_kind(std::string_view text);

struct PipWheel {
  std::string url;   // absolute, without credentials
  std::string file;  // name of the archive
  std::string sha256;
  std::uint64_t size = 0;  // bytes; 0: the file does not say
};

// "requests[socks]; sys_platform == 'linux'"
struct PipNeed {
  std::string name, version, marker;  // version: where several are locked
  std::vector<std::string> extras;
  int line = 0;
};

struct PipPackage {
  std::string name;  // normalized
  std::string version;
  std::string marker;           // pylock: whether it is installed at all
  std::string requires_python;  // ">=3.9"
  std::vector<PipWheel> wheels;
  std::string source;     // of a package without archives: "git+https://…", a directory
  bool own_code = false;  // editable, or the project that the lock was made for
  std::vector<PipNeed> needs;
  std::map<std::string, std::vector<PipNeed>> extras, groups;
  int line = 0;
};

struct PipLock {
  PipLockKind kind = PipLockKind::none;
  std::string requires_python;
  std::set<std::string, std::less<>> default_groups;
  std::vector<PipPackage> packages;
};

// Errors: invalid with "PATH:LINE: "; unsupported (a newer version).
Result<PipLock> parse_pip_lock(std::string_view text, const std::string& path);

struct PipChoice {
  std::set<std::string, std::less<>> extras, groups;  // asked for
};

struct ChosenWheels {
  std::vector<LockedPackage> packages;
  std::vector<std::string> notes;  // what was left out, with its line
};

// The wheels for one Python and platform ("linux-64"). Errors: invalid with "PATH:LINE: " (a marker that is
// none, an extra that is none, a package without a hash), unsatisfiable (another Python is wanted; no wheel
// fits).
Result<ChosenWheels> choose_wheels(const PipLock& lock, const PythonTarget& target, const std::string& platform,
                                   const PipChoice& choice, const std::string& path);

}  // namespace pinstep
