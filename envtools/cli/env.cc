#include "envtools/cli/env.h"

#include <sys/stat.h>

#include <algorithm>
#include <array>
#include <filesystem>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/cli/importing.h"
#include "envtools/lock/lock.h"
#include "envtools/pin/resolve.h"

namespace pinstep::cli {
namespace {

constexpr std::size_t kLeastDigits = 4;

// "pixi.lock:gpu" as the file and the environment in it.
std::optional<Halves> file_and_part(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.find('/', colon) != std::string_view::npos) return std::nullopt;
  return Halves{text.substr(0, colon), text.substr(colon + 1)};
}

bool has_path_form(std::string_view text) {
  constexpr std::array<std::string_view, 5> kEndings{".yml", ".yaml", ".lock", ".txt", ".toml"};
  return text.find('/') != std::string_view::npos ||
         std::any_of(kEndings.begin(), kEndings.end(), [&](auto ending) { return text.ends_with(ending); });
}

bool is_path(std::string_view text) {
  const auto halves = file_and_part(text);
  return has_path_form(text) || (halves && has_path_form(halves->before));
}

bool is_digits(std::string_view text) {
  return text.size() >= kLeastDigits && text.size() <= 64 &&
         text.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

// A lock of Python packages stands for the lock that 'pinstep lock' has made of it, with a Python.
Result<NamedEnv> made_of(NamedEnv env, const std::string& text) {
  const std::string quoted = "'" + env.path + "'", command = "'pinstep lock";
  const std::string lock_path = lock_path_of(env.path);
  const auto lock = load_lock(lock_path);
  if (!lock && lock.error().kind == ErrorKind::not_found)
    return fail(ErrorKind::not_found, quoted + " names no Python, so it is no environment yet",
                command + " --python=VERSION " + shell_quote(env.path) + "' makes a lock of it with one");
  if (!lock) return tl::unexpected(lock.error());
  if (!is_imported_from(*lock, text))
    return fail(ErrorKind::conflict, quoted + " is another file than '" + lock_path + "' was made of",
                command + " " + shell_quote(env.path) + "' makes it anew");
  env.kind = NamedEnv::Kind::lock;
  env.path = lock_path;
  return env;
}

Result<NamedEnv> at_path(const std::string& text, const std::string& directory) {
  NamedEnv env;
  auto path = existing_path(text, directory);
  if (const auto halves = file_and_part(text); !path && halves)
    if (auto file = existing_path(std::string(halves->before), directory)) {
      path = std::move(file);
      env.part = halves->after;
    }
  if (!path) return tl::unexpected(path.error());
  env.path = std::move(*path);
  struct stat info {};
  if (::stat(env.path.c_str(), &info) != 0) return fail_errno(errno, "find", env.path);
  if (S_ISDIR(info.st_mode) && env.part.empty()) {
    env.kind = NamedEnv::Kind::prefix;
    return env;
  }
  const auto file = read_file(env.path, kLockSizeLimit, Links::followed);
  if (!file) return tl::unexpected(file.error());
  const FileKind kind = file_kind(file->text);
  if (kind == FileKind::unknown && pip_lock_kind(file->text) != PipLockKind::none)
    return made_of(std::move(env), file->text);
  if (!env.part.empty() && !(kind == FileKind::lock && has_environments(file->text)))
    return fail(ErrorKind::invalid, "'" + env.path + "' has no environment '" + env.part + "'",
                "only a pixi.lock has several");
  switch (kind) {
    case FileKind::spec:
      env.kind = NamedEnv::Kind::spec;
      return env;
    case FileKind::lock:
      env.kind = NamedEnv::Kind::lock;
      return env;
    case FileKind::unknown:
      break;
  }
  return fail(ErrorKind::invalid, "'" + env.path + "' is neither an environment file nor a lock",
              "an environment file has 'dependencies:', a lock 'package:' or a line '@EXPLICIT'");
}

NamedEnv named(Published published) {
  NamedEnv env;
  env.kind = NamedEnv::Kind::id;
  env.path = published.prefix;
  env.published = std::move(published);
  return env;
}

// The id that a tag stands for in the first store that has it.
std::optional<std::string> tagged(const std::string& tag, const std::vector<Store>& stores) {
  for (const Store& store : stores)
    if (auto id = tagged_id(store, tag)) return id;
  return std::nullopt;
}

Result<NamedEnv> with_id(const std::string& digits, const std::vector<Store>& stores, const Trust& trust) {
  auto found = list_published(stores, trust, digits);
  if (!found) return tl::unexpected(found.error());
  // The same environment in several stores is one.
  const auto other = std::find_if(found->begin(), found->end(),
                                  [&](const Published& one) { return one.id != found->front().id; });
  if (other != found->end())
    return fail(ErrorKind::invalid, "'" + digits + "' begins the ids of several environments",
                "'pinstep list' shows them; give more digits");
  if (found->empty())
    return fail(ErrorKind::not_found, "no environment has an id that begins with '" + digits + "'",
                "'pinstep list' shows those that there are");
  return named(std::move(found->front()));
}

}  // namespace

bool is_tag(std::string_view text) {
  constexpr std::string_view kCharacters = "abcdefghijklmnopqrstuvwxyz0123456789._-";
  return !text.empty() && text.size() <= 64 && text[0] >= 'a' && text[0] <= 'z' &&
         text.find_first_not_of(kCharacters) == std::string_view::npos && text != "none" && text != "job" &&
         !is_path(text) && !is_digits(text);
}

Result<NamedEnv> find_env(const std::string& text, const std::string& directory,
                          const std::vector<Store>& stores, const Trust& trust) {
  if (text.empty())
    return fail(ErrorKind::invalid, "the name of the environment is empty",
                "name a file, a directory or an id, or 'none'");
  if (text == "none") return NamedEnv{};
  if (is_path(text)) return at_path(text, directory);
  if (is_tag(text))
    if (const auto id = tagged(text, stores)) return with_id(*id, stores, trust);
  if (is_digits(text)) return with_id(text, stores, trust);
  return fail(ErrorKind::not_found, "there is no environment '" + text + "'",
              "'pinstep list' shows those that there are; for a file or directory here write './" + text + "'");
}

Result<NamedEnv> find_env_upward(const std::string& directory) {
  for (std::filesystem::path at = directory; !at.empty(); at = at.parent_path()) {
    for (const char* name : {"environment.yml", "environment.yaml"}) {
      const std::filesystem::path file = at / name;
      if (std::error_code error; std::filesystem::is_regular_file(file, error)) {
        NamedEnv env;
        env.kind = NamedEnv::Kind::spec;
        env.path = file;
        return env;
      }
    }
    if (at == at.root_path()) break;
  }
  return fail(ErrorKind::not_found, "there is no environment.yml in '" + directory + "' or above it",
              "name an environment, or write one");
}

}  // namespace pinstep::cli
