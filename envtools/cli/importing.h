// `pinstep lock` of a file that another program has locked: from it a lock of ours, beside it.
//
//   pixi.lock, @EXPLICIT      say all; what hashes are missing is fetched
//   pylock.toml, uv.lock      say which wheels; the Python they run in comes from a lock, or is solved for
//   requirements with hashes  say no URLs: resolved anew, and checked
#pragma once

#include <optional>
#include <string>

#include "envtools/cli/cli.h"
#include "envtools/cli/env.h"
#include "envtools/cli/progress.h"
#include "envtools/config/settings.h"
#include "envtools/piplock/piplock.h"
#include "envtools/solver/make_lock.h"

namespace pinstep::cli {

inline constexpr std::string_view kInputKey = "pinstep.input";  // of custom_metadata: sha256 of the file

struct ForeignLock {
  std::string path, part;  // part: the environment of a pixi.lock
  std::string text;
  PipLockKind pip = PipLockKind::none;  // none: a lock that names conda packages
};

// What a path names, if it is a lock of another program. A lock of conda-lock's format is none. Errors: those
// of reading; usage (options that only go with such a lock).
Result<std::optional<ForeignLock>> foreign_lock(const std::string& path, const Parsed& parsed);

// <stem>-lock.yml beside it, <stem>-ENVIRONMENT-lock.yml for an environment.
std::string imported_path(const ForeignLock& foreign);

// Whether the lock at hand was made of just this file.
bool is_imported_from(const Lock& lock, std::string_view text);

// `before`: the lock that it replaces, whose Python and other conda packages stay unless --python names
// another. Prints notes. Errors: invalid with "PATH:LINE:", usage, those of fetching and solving.
Result<Lock> import_lock(const World& world, const ForeignLock& foreign, const Parsed& parsed,
                         const Settings& settings, LockOptions options, const Lock* before, Progress& progress);

}  // namespace pinstep::cli
