// What the verbs that work on environments share: where they look, and what ENV comes to.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "envtools/cli/cli.h"
#include "envtools/cli/env.h"
#include "envtools/config/settings.h"
#include "envtools/lock/lock.h"
#include "envtools/store/store.h"

namespace pinstep::cli {

struct Place {
  Settings settings;
  std::vector<Store> stores;
  Trust trust;
};

// Settings and stores. `store`: of the command line, absolute or relative, or empty. `site`: arguments of the
// plugstack.conf line. Errors: invalid.
Result<Place> load_place(const World& world, const std::string& store,
                         const std::vector<std::string>& site = {});

// ENV, or without one what is found upward from the working directory.
Result<NamedEnv> env_of(const World& world, const Place& place, const std::optional<std::string>& text);

// The lock that belongs to a spec or lock file: beside the spec, else kept in the stores. Of a pixi.lock the
// text is that of one environment as a lock of ours.
struct LockFile {
  std::string path;
  std::string text;
};
// Errors: not_found with the command that makes it; those of read_file(), of a pixi.lock those of parse_lock().
Result<LockFile> lock_file_of(const World& world, const Place& place, const NamedEnv& env);

// The text of a lock that was built from, as the stores keep it; nothing where they lost it.
std::optional<LockFile> kept_lock(const Place& place, const std::string& digest);

// The lock of an environment, built or not. Errors: those of lock_file_of() and parse_lock(); not_found (a
// prefix without one).
Result<Lock> lock_of(const World& world, const Place& place, const NamedEnv& env);

// `pinstep build` keeps this link beside the spec: <directory>/.pinstep/<stem> → prefix.
std::string kept_link(const std::string& spec_path);

// A prefix to run in. Errors: not_found where it is not built, with the command that builds it.
struct Located {
  std::string prefix;
  std::optional<Published> published;  // nothing for a prefix outside the stores
};
Result<Located> locate(const World& world, const Place& place, const NamedEnv& env);

}  // namespace pinstep::cli
