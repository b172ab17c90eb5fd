#include "envtools/cli/environments.h"

#include <unistd.h>

#include <cstdio>
#include <filesystem>

#include "envtools/base/fd.h"
#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "envtools/cli/completing.h"
#include "envtools/config/files.h"
#include "envtools/hash/hash.h"
#include "envtools/pin/pin.h"
#include "envtools/store/records.h"

namespace pinstep::cli {
namespace {

namespace fs = std::filesystem;

// The environment that a spec's link points at, if this very lock's text made it: spares reading the lock.
std::optional<std::string> kept_id(const std::string& spec_path, const std::string& lock_text) {
  std::error_code error;
  const std::string prefix = fs::read_symlink(kept_link(spec_path), error);
  if (error || read_origin(prefix).lock != sha256_hex(lock_text)) return std::nullopt;
  const auto id = read_file(id_file(prefix), 128);
  return id && is_hex(trim(id->text), 64) ? std::optional<std::string>(trim(id->text)) : std::nullopt;
}

Error not_built(const NamedEnv& env) {
  return {ErrorKind::not_found, "the environment of '" + env.path + "' is not built",
          "'pinstep build " + shell_quote(env.path) + "' builds it"};
}

// Only then the spec is compared with its lock, which takes longer than all else of starting a program.
bool is_newer(const std::string& spec_path, const std::string& lock_path) {
  std::error_code error;
  const auto spec = fs::last_write_time(spec_path, error);
  if (error) return false;
  const auto lock = fs::last_write_time(lock_path, error);
  return !error && spec > lock;
}

Result<std::string> id_of(const Place& place, const NamedEnv& env, const LockFile& lock_file) {
  if (env.kind == NamedEnv::Kind::spec)
    if (const auto id = kept_id(env.path, lock_file.text)) return *id;
  auto lock = parse_lock(lock_file.text, lock_file.path);
  if (lock && !is_complete(*lock)) {
    const auto kept = find_completed(place, *lock);
    if (!kept) return tl::unexpected(not_built(env));
    lock = parse_lock(kept->text, kept->path);
  }
  if (!lock) return tl::unexpected(lock.error());
  return environment_id(*lock, own_platform(), {place.settings.compile});
}

}  // namespace

Result<Place> load_place(const World& world, const std::string& store, const std::vector<std::string>& site) {
  const auto settings = load_user_settings(world.environment, site);
  if (!settings) return tl::unexpected(settings.error());
  Place place;
  place.settings = settings->settings;
  place.trust = {::geteuid(), place.settings.trusted_uids};
  Environment environment = world.environment;
  if (!store.empty())
    environment.set("PINSTEP_STORE", (fs::path(world.directory) / store).lexically_normal().string());
  auto found = stores(environment, place.settings.store);
  if (!found) return tl::unexpected(found.error());
  place.stores = std::move(*found);
  return place;
}

Result<NamedEnv> env_of(const World& world, const Place& place, const std::optional<std::string>& text) {
  return text ? find_env(*text, world.directory, place.stores, place.trust) : find_env_upward(world.directory);
}

Result<LockFile> lock_file_of(const World& world, const Place& place, const NamedEnv& env) {
  const bool is_spec = env.kind == NamedEnv::Kind::spec;
  LockFile lock{is_spec ? lock_path_of(env.path) : env.path, ""};
  auto file = read_file(lock.path, kLockSizeLimit, Links::followed);
  if (!file && is_spec && file.error().kind == ErrorKind::not_found) {
    auto stored = stored_lock(world, place, env.path);
    if (!stored) return tl::unexpected(stored.error());
    if (*stored) return std::move(**stored);
    return fail(ErrorKind::not_found, "'" + env.path + "' has no lock yet",
                "'pinstep lock " + shell_quote(env.path) + "' makes it");
  }
  if (!file) return tl::unexpected(file.error());
  lock.text = std::move(file->text);
  if (is_spec || !has_environments(lock.text)) return lock;
  const auto environment = parse_lock(lock.text, lock.path, env.part);
  if (!environment) return tl::unexpected(environment.error());
  for (const std::string& note : environment->notes)
    std::fprintf(stderr, "pinstep: note: %s\n", printable(note).c_str());
  lock.text = write_lock(*environment);
  return lock;
}

std::optional<LockFile> kept_lock(const Place& place, const std::string& digest) {
  if (!is_hex(digest, 64)) return std::nullopt;
  for (const Store& store : place.stores) {
    const std::string path = store.lock_text(digest);
    auto file = read_file(path, kLockSizeLimit);
    if (file && sha256_hex(file->text) == digest) return LockFile{path, std::move(file->text)};
  }
  return std::nullopt;
}

Result<Lock> lock_of(const World& world, const Place& place, const NamedEnv& env) {
  if (env.kind == NamedEnv::Kind::none) return fail(ErrorKind::invalid, "'none' is no environment");
  if (env.kind == NamedEnv::Kind::prefix || env.kind == NamedEnv::Kind::id) {
    const auto kept = kept_lock(place, read_origin(env.path).lock);
    if (!kept)
      return fail(ErrorKind::not_found, "no lock is kept of '" + env.path + "'",
                  "name its environment.yml or its lock instead");
    return parse_lock(kept->text, kept->path);
  }
  auto file = lock_file_of(world, place, env);
  if (!file) return tl::unexpected(file.error());
  auto lock = parse_lock(file->text, file->path);
  if (lock && !is_complete(*lock))
    if (const auto completed = find_completed(place, *lock))
      return parse_lock(completed->text, completed->path);
  return lock;
}

std::string kept_link(const std::string& spec_path) {
  const fs::path path(spec_path);
  return path.parent_path() / ".pinstep" / path.stem();
}

Result<Located> locate(const World& world, const Place& place, const NamedEnv& env) {
  switch (env.kind) {
    case NamedEnv::Kind::none:
      return fail(ErrorKind::invalid, "'none' is no environment");
    case NamedEnv::Kind::prefix:
      return Located{env.path, std::nullopt};
    case NamedEnv::Kind::id:
      return Located{env.path, env.published};
    case NamedEnv::Kind::spec:
    case NamedEnv::Kind::lock:
      break;
  }
  const auto lock = lock_file_of(world, place, env);
  if (!lock) return tl::unexpected(lock.error());
  const auto id = id_of(place, env, *lock);
  if (!id) return tl::unexpected(id.error());
  const auto published = find_published(place.stores, *id, place.trust);
  if (!published) return tl::unexpected(published.error());
  if (!*published && env.kind == NamedEnv::Kind::spec)
    if (auto changed = changed_since_locked(world, place, env.path)) return tl::unexpected(std::move(*changed));
  if (!*published) return tl::unexpected(not_built(env));
  if (env.kind == NamedEnv::Kind::spec && is_newer(env.path, lock->path))
    if (const auto changed = changed_since_locked(world, place, env.path))
      std::fprintf(stderr, "pinstep: note: %s; what is built is used\n", printable(changed->cause).c_str());
  return Located{(*published)->prefix, *published};
}

}  // namespace pinstep::cli
