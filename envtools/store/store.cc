#include "envtools/store/store.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/hash/hash.h"
#include "envtools/json/json.h"
#include "envtools/pin/use.h"
#include "envtools/store/records.h"

namespace pinstep {
namespace {

constexpr std::string_view kVersion = "1";
constexpr std::size_t kShownVersion = 16;  // bytes
constexpr std::string_view kOtherPlace =
    "PINSTEP_STORE, or the setting 'store', names another place for environments";
constexpr std::size_t kShortId = 16;
constexpr std::array<std::pair<HiddenName::Kind, std::string_view>, 3> kHidden{{
    {HiddenName::Kind::stage, ".stage-"},
    {HiddenName::Kind::broken, ".broken-"},
    {HiddenName::Kind::removed, ".removed-"},
}};
constexpr std::size_t kSmallFile = 4096;  // bytes of an id, origin, tag or VERSION file

Result<std::vector<Store>> parse_list(std::string_view list, std::string_view where,
                                      const Environment& environment) {
  std::vector<Store> stores;
  for (const std::string_view item : split(list, ':')) {
    if (trim(item).empty()) continue;
    auto path = expand_variables(trim(item), environment);
    if (!path) return tl::unexpected(path.error());
    if (!path->starts_with('/'))
      return fail(ErrorKind::invalid, "the store '" + *path + "' is not an absolute path",
                  "it is set by " + std::string(where));
    while (path->size() > 1 && path->ends_with('/')) path->pop_back();
    stores.emplace_back(std::move(*path));
  }
  return stores;
}

// Makes a directory and those above it. An existing one is left as it is.
Result<void> make_directory(const std::string& path, mode_t mode) {
  if (::mkdir(path.c_str(), 0700) == 0) {
    if (::chmod(path.c_str(), mode) != 0) return fail_errno(errno, "set the mode of", path);
    return {};
  }
  int error_number = errno;
  struct stat info {};
  if (::stat(path.c_str(), &info) == 0) {
    if (S_ISDIR(info.st_mode)) return {};
    return fail_errno(ENOTDIR, "create", path, std::string(kOtherPlace));
  }
  if (error_number == EEXIST)
    return fail(ErrorKind::invalid, "'" + path + "' is a symbolic link to what is not there",
                std::string(kOtherPlace));
  if (error_number == ENOENT && path.rfind('/') > 0) {
    const auto above = make_directory(path.substr(0, path.rfind('/')), 0755);
    if (!above) return above;
    if (::mkdir(path.c_str(), 0700) == 0 || errno == EEXIST) {
      ::chmod(path.c_str(), mode);
      return {};
    }
    error_number = errno;
  }
  return fail_errno(error_number, "create", path, std::string(kOtherPlace));
}

// Of a directory that an older pinstep made; one that is not ours stays as it is.
void set_mode_of_own(const std::string& path, mode_t mode) {
  const UniqueFd directory(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  struct stat info {};
  if (!directory.valid() || ::fstat(directory.get(), &info) != 0 || (info.st_mode & 07777) == mode) return;
  [[maybe_unused]] const int changed = ::fchmod(directory.get(), mode);
}

// The directories of a store, and whether each is sticky in a store that a group shares: where names must
// not be taken away from their owners.
struct Directory {
  std::string path;
  bool sticky;
};

std::vector<Directory> directories(const Store& store) {
  const std::string& top = store.directory();
  return {{top + "/e", true},  {top + "/l", true},  {top + "/s", true},
          {top + "/t", false}, {top + "/b", false}, {top + "/c", true}};
}

// The cache is the builder's own in every store: what lies in it is taken for what its name says.
Result<void> prepare_cache(const Store& store) {
  const std::string archives = store.archives();
  const std::string cache = archives.substr(0, archives.rfind('/'));
  for (const std::string& directory : {cache, store.archives(), store.packages(), store.wheels()}) {
    if (auto made = make_directory(directory, 0755); !made) return made;
    struct stat info {};
    if (::lstat(directory.c_str(), &info) != 0) return fail_errno(errno, "inspect", directory);
    if (directory != cache && (info.st_uid != ::geteuid() || !S_ISDIR(info.st_mode)))
      return fail(ErrorKind::refused,
                  "'" + directory + "' belongs to user " + std::to_string(info.st_uid) + " and not to you",
                  "only the owner of a store can build into it, or the group if it may write there");
  }
  return {};
}

// Nothing where there is no prefix that we would believe.
Result<std::optional<Published>> read_published(const std::string& prefix, const Trust& trust) {
  struct stat info {};
  if (::lstat(prefix.c_str(), &info) != 0 || !S_ISDIR(info.st_mode) || !trust.covers(info.st_uid))
    return std::optional<Published>();
  auto id = read_file(id_file(prefix), kSmallFile);
  if (!id || !is_hex(trim(id->text), 64))
    return fail(ErrorKind::corrupt, "'" + prefix + "' has no readable environment id",
                "'pinstep build' moves it aside and builds it anew");
  Published published;
  published.id = trim(id->text);
  published.prefix = prefix;
  const auto origin = read_origin(prefix);
  published.name = origin.name;
  published.lock = origin.lock;
  published.built = origin.built;
  published.packages = origin.packages;
  published.bytes = origin.bytes;
  return std::optional<Published>(std::move(published));
}

Result<void> remove_entries(int directory, const std::string& path);

Result<void> remove_entry(int directory, const char* name, const std::string& path) {
  if (::unlinkat(directory, name, 0) == 0 || errno == ENOENT) return {};
  if (errno != EISDIR) return fail_errno(errno, "remove", path);
  // What a build has sealed cannot be emptied. Where this fails the next call says so.
  [[maybe_unused]] const int changed = ::fchmodat(directory, name, 0700, 0);
  const UniqueFd inner(::openat(directory, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
  if (!inner.valid()) {
    if (errno == ENOENT) return {};
    return fail_errno(errno, "remove", path);
  }
  if (auto removed = remove_entries(inner.get(), path); !removed) return removed;
  if (::unlinkat(directory, name, AT_REMOVEDIR) == 0 || errno == ENOENT) return {};
  return fail_errno(errno, "remove", path);
}

Result<void> remove_entries(int directory, const std::string& path) {
  DIR* entries = ::fdopendir(::dup(directory));
  if (entries == nullptr) return fail_errno(errno, "list", path);
  Result<void> result;
  while (const dirent* entry = ::readdir(entries)) {
    const std::string name = entry->d_name;
    if (name == "." || name == "..") continue;
    result = remove_entry(directory, entry->d_name, path + "/" + name);
    if (!result) break;
  }
  ::closedir(entries);
  return result;
}

}  // namespace

// ---- names

std::string short_id(std::string_view id) { return std::string(id.substr(0, kShortId)); }

std::string Store::prefix(std::string_view id) const { return directory_ + "/e/" + short_id(id); }
std::string Store::stage(std::string_view id, std::string_view token) const {
  return hidden(HiddenName::Kind::stage, id, token);
}
std::string Store::broken(std::string_view id, std::string_view token) const {
  return hidden(HiddenName::Kind::broken, id, token);
}
std::string Store::removed(std::string_view id, std::string_view token) const {
  return hidden(HiddenName::Kind::removed, id, token);
}
std::string Store::hidden(HiddenName::Kind kind, std::string_view id, std::string_view token) const {
  return directory_ + "/e/" + std::string(kHidden[static_cast<std::size_t>(kind)].second) + short_id(id) + "-" +
         std::string(token);
}
std::string Store::lock_text(std::string_view digest) const {
  return directory_ + "/l/" + std::string(digest) + ".yml";
}
std::string Store::solved(std::string_view spec_key) const {
  return directory_ + "/s/" + std::string(spec_key);
}
std::string Store::archives() const { return cache_ + "/archives"; }
std::string Store::packages() const { return cache_ + "/pkgs"; }
std::string Store::wheels() const { return cache_ + "/wheels"; }
std::string Store::tag(std::string_view tag) const { return directory_ + "/t/" + std::string(tag); }
std::string Store::build_lease(std::string_view name) const { return directory_ + "/b/" + std::string(name); }
Store Store::with_cache_of(uid_t user) const {
  Store store(directory_);
  store.cache_ += "/" + std::to_string(user);
  return store;
}
std::string Store::use_directory() const { return pinstep::use_directory(directory_); }

std::optional<HiddenName> parse_hidden(std::string_view name) {
  for (const auto& [kind, begin] : kHidden) {
    if (!name.starts_with(begin)) continue;
    const auto halves = split_once(name.substr(begin.size()), '-');
    if (halves && is_hex(halves->before, kShortId)) return HiddenName{kind, std::string(halves->before)};
  }
  return std::nullopt;
}

Result<std::vector<Store>> stores(const Environment& environment, const std::string& configured) {
  if (const auto list = environment.get("PINSTEP_STORE"); list && !trim(*list).empty())
    return parse_list(*list, "PINSTEP_STORE", environment);
  if (!trim(configured).empty()) return parse_list(configured, "the setting 'store'", environment);
  if (const auto data = environment.get("XDG_DATA_HOME"); data && data->starts_with('/'))
    return std::vector<Store>{Store(std::string(*data) + "/pinstep")};
  const auto home = environment.get("HOME");
  if (!home || !home->starts_with('/'))
    return fail(ErrorKind::invalid, "there is no place for environments: HOME is not set",
                "name one with PINSTEP_STORE");
  return std::vector<Store>{Store(std::string(*home) + "/.local/share/pinstep")};
}

// ---- making and reading

Result<Store> prepare_store(const Store& store) {
  if (auto made = make_directory(store.directory(), 0755); !made) return tl::unexpected(made.error());
  struct stat top {};
  if (::stat(store.directory().c_str(), &top) != 0) return fail_errno(errno, "inspect", store.directory());

  const std::string version = store.directory() + "/VERSION";
  const auto text = read_file(version, kSmallFile);
  if (text && trim(text->text) != kVersion)
    return fail(ErrorKind::unsupported,
                "'" + store.directory() + "' is a store of version '" +
                    printable(trim(text->text).substr(0, kShownVersion)) + "', this pinstep writes 1",
                "use another store, or a newer pinstep");
  if (!text && text.error().kind != ErrorKind::not_found) return tl::unexpected(text.error());

  const bool shared = (top.st_mode & S_IWGRP) != 0;
  for (const Directory& directory : directories(store)) {
    const mode_t mode = !shared ? 0755 : directory.sticky ? 03775 : 02775;
    if (auto made = make_directory(directory.path, mode); !made) return tl::unexpected(made.error());
    if (::faccessat(AT_FDCWD, directory.path.c_str(), W_OK | X_OK, AT_EACCESS) != 0)
      return fail_errno(errno, "write into", directory.path, std::string(kOtherPlace));
  }
  // Whoever may use what is in the store says there that he does.
  const bool open = (top.st_mode & S_IXOTH) != 0;
  const mode_t mode = open ? 01777 : shared ? 03775 : 0755;
  if (auto made = make_directory(store.use_directory(), mode); !made) return tl::unexpected(made.error());
  set_mode_of_own(store.use_directory(), mode);
  Store own = shared ? store.with_cache_of(::geteuid()) : store;
  if (auto made = prepare_cache(own); !made) return tl::unexpected(made.error());
  // Last: what has a VERSION is whole.
  if (!text)
    if (auto written = write_once(version, std::string(kVersion) + "\n"); !written)
      return tl::unexpected(written.error());
  return own;
}

Result<Store> prepare_one(const std::vector<Store>& stores) {
  std::optional<Error> first;
  for (const Store& store : stores) {
    auto prepared = prepare_store(store);
    if (prepared) return prepared;
    if (!first) first = prepared.error();
  }
  return tl::unexpected(
      first.value_or(Error{ErrorKind::invalid, "no store is named", std::string(kOtherPlace)}));
}

std::optional<std::string> tagged_id(const Store& store, std::string_view tag) {
  const auto file = read_file(store.tag(tag), kSmallFile);
  return file ? std::optional(std::string(trim(file->text))) : std::nullopt;
}

Store store_of(const Published& published) {
  return Store(published.prefix.substr(0, published.prefix.size() - std::string_view("/e/").size() - kShortId));
}

Result<std::optional<Published>> find_published(const std::vector<Store>& stores, std::string_view id,
                                                const Trust& trust) {
  for (const Store& store : stores) {
    auto published = read_published(store.prefix(id), trust);
    if (!published) return published;
    if (!*published) continue;
    if ((*published)->id != id)
      return fail(ErrorKind::conflict, "'" + (*published)->prefix + "' holds environment " + (*published)->id +
                                           " and not " + std::string(id));
    return published;
  }
  return std::optional<Published>();
}

Result<std::vector<Published>> list_published(const std::vector<Store>& stores, const Trust& trust,
                                              std::string_view id_begins) {
  std::vector<Published> all;
  for (const Store& store : stores) {
    const auto names = directory_names(store.directory() + "/e");
    if (!names) return tl::unexpected(names.error());
    for (const std::string& name : *names) {
      if (!is_hex(name, kShortId)) continue;
      const std::size_t common = std::min(name.size(), id_begins.size());
      if (name.compare(0, common, id_begins.substr(0, common)) != 0) continue;
      auto published = read_published(store.directory() + "/e/" + name, trust);
      // One that is damaged does not hide the others.
      if (published && *published && (*published)->id.starts_with(id_begins))
        all.push_back(std::move(**published));
    }
  }
  return all;
}

Result<void> write_once(const std::string& path, std::string_view text) {
  if (const auto there = read_file(path, text.size()); there && there->text == text) return {};
  const std::string aside = path + ".new-" + new_token();
  UniqueFd file(::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0400));
  if (!file.valid()) return fail_errno(errno, "write", aside);
  const auto discard = [&](int error_number) {
    ::unlink(aside.c_str());
    return fail_errno(error_number, "write", path);
  };
  if (!write_all(file.get(), text)) return discard(errno);
  if (::fchmod(file.get(), 0444) != 0 || ::fsync(file.get()) != 0) return discard(errno);
  if (::rename(aside.c_str(), path.c_str()) != 0) return discard(errno);
  return {};
}

Result<std::vector<std::string>> directory_names(const std::string& path) {
  std::vector<std::string> names;
  DIR* entries = ::opendir(path.c_str());
  if (entries == nullptr && errno == ENOENT) return names;
  if (entries == nullptr) return fail_errno(errno, "list", path);
  while (const dirent* entry = ::readdir(entries))
    if (const std::string_view name = entry->d_name; name != "." && name != "..") names.emplace_back(name);
  ::closedir(entries);
  std::sort(names.begin(), names.end());
  return names;
}

Result<void> remove_tree(const std::string& path) { return remove_entry(AT_FDCWD, path.c_str(), path); }

}  // namespace pinstep
