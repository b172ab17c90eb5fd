// The part of gc.h that touches the store.
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/store/gc.h"
#include "envtools/store/lease.h"

namespace pinstep {
namespace {

std::optional<struct stat> own_entry(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || info.st_uid != ::geteuid()) return std::nullopt;
  return info;
}

// {first digits of the id: its uses}
Result<std::map<std::string, std::vector<NotedUse>>> uses_in(const Store& store) {
  const auto names = directory_names(store.use_directory());
  if (!names) return tl::unexpected(names.error());
  std::map<std::string, std::vector<NotedUse>> uses;
  for (const std::string& name : *names) {
    auto use = parse_use(name);
    struct stat info {};
    if (!use || ::lstat((store.use_directory() + "/" + name).c_str(), &info) != 0) continue;
    const std::string id16 = use->id16;
    uses[id16].push_back({std::move(*use), info.st_mtime, info.st_uid});
  }
  return uses;
}

// {id: its tags}
Result<std::map<std::string, std::vector<std::string>>> tags_in(const Store& store) {
  const auto names = directory_names(store.directory() + "/t");
  if (!names) return tl::unexpected(names.error());
  std::map<std::string, std::vector<std::string>> tags;
  for (const std::string& name : *names)
    if (const auto id = tagged_id(store, name)) tags[*id].push_back(name);
  return tags;
}

// Who may run what is in a store must be able to say so, or it would be taken away under him.
Result<void> check_others_can_note(const Store& store) {
  struct stat top {
  }, uses{};
  if (::stat(store.directory().c_str(), &top) != 0 || ::stat(store.use_directory().c_str(), &uses) != 0)
    return {};
  const bool others_may_use = (top.st_mode & S_IXOTH) != 0;
  const bool others_may_note = (uses.st_mode & S_IWOTH) != 0;
  if (!others_may_use || others_may_note) return {};
  return fail(ErrorKind::refused,
              "others may run what is in '" + store.directory() + "' and cannot note that they do in '" +
                  store.use_directory() + "'",
              "chmod 1777 " + shell_quote(store.use_directory()) + ", or chmod o-rx " +
                  shell_quote(store.directory()) + " where it is yours alone");
}

// Whether a job may still be running in, or waiting for, an environment with these uses.
bool is_needed(const std::vector<NotedUse>& uses, const std::optional<KnownJobs>& known, GcPolicy policy) {
  GcCandidate candidate;
  candidate.uses = uses;
  policy.keep = Days(0);
  policy.most_bytes.reset();
  return !plan_gc({candidate}, known, policy).front().removed;
}

}  // namespace

Result<std::vector<GcCandidate>> gc_candidates(const Store& store, const Trust& trust) {
  if (const auto fine = check_others_can_note(store); !fine) return tl::unexpected(fine.error());
  auto published = list_published({store}, trust);
  if (!published) return tl::unexpected(published.error());
  auto uses = uses_in(store);
  if (!uses) return tl::unexpected(uses.error());
  auto tags = tags_in(store);
  if (!tags) return tl::unexpected(tags.error());
  std::vector<GcCandidate> candidates;
  for (Published& one : *published) {
    if (!own_entry(one.prefix)) continue;
    const std::string id = one.id;
    candidates.push_back({std::move(one), (*tags)[id], (*uses)[short_id(id)]});
  }
  return candidates;
}

Result<bool> remove_published(const Store& store, const GcCandidate& candidate) {
  const std::string& prefix = candidate.published.prefix;
  const std::string& id = candidate.published.id;
  const std::string aside = store.removed(id, new_token());
  if (::rename(prefix.c_str(), aside.c_str()) != 0) return fail_errno(errno, "remove", prefix);
  // A submission notes itself first and then looks whether the prefix is there: either it sees that it is gone,
  // or its note is seen here.
  auto uses = uses_in(store);
  const auto tags = tags_in(store);
  if (!uses || !tags || (*uses)[short_id(id)] != candidate.uses || tags->contains(id)) {
    if (::rename(aside.c_str(), prefix.c_str()) != 0) return fail_errno(errno, "put back", prefix);
    return false;
  }
  if (const auto removed = remove_tree(aside); !removed) return tl::unexpected(removed.error());
  return true;
}

Result<std::vector<std::string>> leftovers(const Store& store, const std::optional<KnownJobs>& known,
                                           const GcPolicy& policy) {
  const std::string directory = store.directory() + "/e";
  const auto names = directory_names(directory);
  if (!names) return tl::unexpected(names.error());
  auto uses = uses_in(store);
  if (!uses) return tl::unexpected(uses.error());
  std::vector<std::string> found;
  for (const std::string& name : *names) {
    const std::string path = directory + "/" + name;
    const auto hidden = parse_hidden(name);
    const auto info = hidden ? own_entry(path) : std::nullopt;
    if (!info) continue;
    const bool is_old = policy.now - info->st_ctime >= std::chrono::seconds(policy.keep).count();
    const bool goes = hidden->kind == HiddenName::Kind::stage ? is_abandoned(store.build_lease(hidden->id16))
                      : hidden->kind == HiddenName::Kind::broken
                          ? is_old && !is_needed((*uses)[hidden->id16], known, policy)
                          : true;
    if (goes) found.push_back(path);
  }
  return found;
}

Result<std::vector<std::string>> stale_notes(const Store& store, const std::optional<KnownJobs>& known,
                                             const GcPolicy& policy) {
  const auto uses = uses_in(store);
  if (!uses) return tl::unexpected(uses.error());
  const Days longest = std::max(policy.keep, policy.lease);
  std::vector<std::string> found;
  for (const auto& [id16, noted] : *uses)
    for (const NotedUse& one : noted)
      if (one.owner == policy.user && policy.now - one.time >= std::chrono::seconds(longest).count() &&
          !is_needed({one}, known, policy))
        found.push_back(store.use_directory() + "/" + file_name(one.use));
  return found;
}

Result<std::vector<std::string>> cache_directories(const Store& store) {
  const auto leases = directory_names(store.directory() + "/b");
  if (!leases) return tl::unexpected(leases.error());
  for (const std::string& name : *leases)
    if (!is_abandoned(store.build_lease(name)))
      return fail(ErrorKind::busy, "something is being built in '" + store.directory() + "'",
                  "try again later");
  std::vector<std::string> found;
  for (const std::string& directory : {store.archives(), store.packages(), store.wheels()})
    if (own_entry(directory)) found.push_back(directory);
  return found;
}

}  // namespace pinstep
