#include "envtools/record/guard.h"

#include <fts.h>

#include <cstring>
#include <memory>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

constexpr mode_t kWrite = S_IWUSR | S_IWGRP | S_IWOTH;

struct CloseWalk {
  void operator()(FTS* walk) const { ::fts_close(walk); }
};

bool equal(const timespec& a, const timespec& b) { return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec; }

Result<void> seal_entry(const FTSENT& entry) {
  const mode_t mode = entry.fts_statp->st_mode & 07777;
  const bool counts = entry.fts_info == FTS_DP || entry.fts_info == FTS_F;
  if (!counts || (mode & kWrite) == 0) return {};
  if (::chmod(entry.fts_accpath, mode & ~kWrite) != 0)
    return fail_errno(errno, "set the mode of", entry.fts_path);
  return {};
}

// Every entry once, directories after what is in them.
template <class Visit>
Result<void> walk_tree(const std::string& directory, Visit visit) {
  std::string root = directory;
  char* roots[] = {root.data(), nullptr};
  const std::unique_ptr<FTS, CloseWalk> walk(::fts_open(roots, FTS_PHYSICAL | FTS_NOCHDIR, nullptr));
  if (walk == nullptr) return fail_errno(errno, "list", directory);
  for (FTSENT* entry; errno = 0, (entry = ::fts_read(walk.get())) != nullptr;) {
    if (entry->fts_info == FTS_D) continue;
    if (entry->fts_info == FTS_DNR || entry->fts_info == FTS_ERR || entry->fts_info == FTS_NS)
      return fail_errno(entry->fts_errno, "list", entry->fts_path);
    if (Result<void> done = visit(*entry); !done) return done;
  }
  if (errno != 0) return fail_errno(errno, "list", directory);
  return {};
}

}  // namespace

bool GuardedTree::Entry::same_as(const Entry& other) const {
  return mode == other.mode && inode == other.inode && size == other.size && equal(modified, other.modified) &&
         (!S_ISDIR(mode) || equal(changed, other.changed));
}

Result<GuardedTree::Entries> GuardedTree::list(const std::string& directory) {
  Entries entries;
  const auto done = walk_tree(directory, [&](const FTSENT& entry) -> Result<void> {
    const struct stat& info = *entry.fts_statp;
    std::string path = std::string(entry.fts_path).substr(directory.size());
    if (path.starts_with('/')) path.erase(0, 1);
    entries.emplace(std::move(path),
                    Entry{info.st_mode, info.st_ino, info.st_size, info.st_mtim, info.st_ctim, info.st_mode});
    return {};
  });
  if (!done) return tl::unexpected(done.error());
  return entries;
}

Result<GuardedTree> GuardedTree::guard(const std::string& directory) {
  const auto before = list(directory);
  if (!before) return tl::unexpected(before.error());
  if (auto sealed = walk_tree(directory, seal_entry); !sealed) return tl::unexpected(sealed.error());
  auto entries = list(directory);
  if (!entries) return tl::unexpected(entries.error());
  GuardedTree tree(directory);
  tree.entries_ = std::move(*entries);
  for (auto& [path, entry] : tree.entries_)
    if (const auto was = before->find(path); was != before->end()) entry.mode_before = was->second.mode;
  return tree;
}

Result<void> GuardedTree::release() {
  const auto changed = [](const std::string& path, const char* how) {
    return fail(ErrorKind::corrupt, "the environment's activation scripts " + std::string(how) + " '" +
                                        printable(path.empty() ? "." : path) + "' in the environment");
  };
  const auto now = list(directory_);
  if (!now && now.error().kind == ErrorKind::not_found) return changed("", "remove");
  if (!now) return tl::unexpected(now.error());
  // What is gone or new says more than the directory that it was in.
  for (const auto& [path, entry] : entries_)
    if (!now->contains(path)) return changed(path, "remove");
  for (const auto& [path, entry] : *now)
    if (!entries_.contains(path)) return changed(path, "make");
  for (const auto& [path, entry] : entries_)
    if (!S_ISDIR(entry.mode) && !entry.same_as(now->at(path))) return changed(path, "change");
  for (auto each = entries_.rbegin(); each != entries_.rend(); ++each)
    if (!each->second.same_as(now->at(each->first))) return changed(each->first, "change");
  for (const auto& [path, entry] : entries_)
    if (S_ISDIR(entry.mode) && ::chmod((directory_ + "/" + path).c_str(), entry.mode_before & 07777) != 0)
      return fail_errno(errno, "set the mode of", directory_ + "/" + path);
  return {};
}

}  // namespace pinstep
