// The lock: the solved spec, with every artifact's URL and sha256, for one platform or several.
//
// Written as conda-lock v1 (CEP 37), so that conda-lock and micromamba install it too; what pinstep adds
// stands in metadata.custom_metadata under keys beginning "pinstep." (FORMAT.md). Read: conda-lock v1,
// pixi.lock v6 and v7, and explicit files (CEP 23).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep {

enum class Manager { conda, pip };

// One artifact for one platform. URLs carry no credentials.
struct LockedPackage {
  Manager manager = Manager::conda;
  std::string name;  // conda: as in its file name; pip: normalized (PEP 503)
  std::string version;
  std::string platform;  // linux-64
  std::string url;
  std::string sha256;  // 64 hex digits; empty in explicit files (md5 or nothing) and for version control URLs
  std::string md5;     // may be empty
  std::uint64_t size = 0;  // bytes; 0: the lock does not say
  std::string category = "main";
  bool optional = false;
  std::map<std::string, std::string> dependencies;  // name → constraint
  std::string build;  // conda: the build string, from the file name where the lock does not have it

  bool operator==(const LockedPackage&) const = default;
};

// A channel: its name in specs and locks, and the base URL it had when the lock was made.
struct LockedChannel {
  std::string name;  // "conda-forge"; equal to the URL where it has no name
  std::string url;   // without a trailing slash; empty where neither the lock nor a package tells

  bool operator==(const LockedChannel&) const = default;
};

struct Lock {
  enum class Origin { conda_lock, explicit_list, pixi };

  Origin origin = Origin::conda_lock;
  std::vector<std::string> platforms;
  std::map<std::string, std::string> content_hash;  // platform → hash of the spec it was solved from
  std::vector<LockedChannel> channels;
  std::vector<std::string> sources;  // file names of the spec, relative to the lock
  std::map<std::string, std::string> variables;
  std::map<std::string, std::string> custom;  // other custom_metadata, kept: solver, profile, input hashes
  std::vector<LockedPackage> packages;
  std::vector<std::string> notes;  // for people

  // Of one platform and these categories, sorted by manager and name, each name once. The default is what
  // conda-lock installs. Errors: invalid, naming the platforms that there are; conflict, two artifacts for one
  // name.
  Result<std::vector<LockedPackage>> packages_for(std::string_view platform,
                                                  const std::vector<std::string>& categories = {"main",
                                                                                                "dev"}) const;
};

inline constexpr std::size_t kLockSizeLimit = 64 << 20;  // bytes

// `part`: "ENVIRONMENT", "ENVIRONMENT@PLATFORM" or "@PLATFORM" of a pixi.lock; empty: its environment
// `default`. Code that the lock names as editable is left out, with a note. Errors: invalid with "PATH:LINE:"
// (a package that has to be built first, …), unsupported (another version).
Result<Lock> parse_lock(std::string_view text, const std::string& path, std::string_view part = {});
Result<Lock> load_lock(const std::string& path, std::string_view part = {});

// Deterministic; parse_lock(write_lock(x)) == x but for notes and the packages' order, which is by manager,
// name, platform and category.
std::string write_lock(const Lock& lock);

// Whether this is a pixi.lock: a file of several environments, of which a lock is one.
bool has_environments(std::string_view text);

// Whether this is an explicit file.
bool is_explicit(std::string_view text);

// Whether this is a pixi.lock: a file of several environments, of which a lock is one.
bool has_environments(std::string_view text);

// <stem>-lock.yml beside the spec: environment.yml → environment-lock.yml, env.gpu.yml → env.gpu-lock.yml.
std::string lock_path_of(const std::string& spec_path);

// What kind of file this is, by content; for ENV.
enum class FileKind { spec, lock, unknown };
FileKind file_kind(std::string_view text);

// ---- identity

// What besides artifacts and variables decides an environment's content.
struct BuildOptions {
  bool compile = true;  // byte-compile python sources

  bool operator==(const BuildOptions&) const = default;
};

inline constexpr int kLayoutVersion = 1;    // of a prefix as pinstep makes it
inline constexpr int kRecorderVersion = 2;  // of the activation recorder

// The text whose sha256 is the environment id; not URLs, not paths. Format: FORMAT.md.
// Errors: invalid (an artifact without sha256; a platform the lock does not have).
Result<std::string> identity_text(const Lock& lock, std::string_view platform, const BuildOptions& options);
Result<std::string> environment_id(const Lock& lock, std::string_view platform, const BuildOptions& options);

}  // namespace pinstep
