#include "envtools/package/tree.h"

#include <fcntl.h>

#include <algorithm>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"

namespace pinstep {
namespace {

constexpr std::int64_t k1980 = 315532800;  // 1980-01-01 00:00 UTC
constexpr int kDirectory = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;

}  // namespace

Result<Tree> Tree::open(const std::string& directory, std::string archive) {
  UniqueFd root(::open(directory.c_str(), kDirectory));
  if (!root.valid()) return fail_errno(errno, "open", directory);
  return Tree(std::move(root), std::move(archive));
}

tl::unexpected<Error> Tree::fail_at(int error_number, const std::string& path) const {
  return fail_errno(error_number, "extract '" + printable(path) + "' of", archive_);
}

// Opens a directory below `parent`, made if it is missing.
Result<UniqueFd> Tree::enter(int parent, const std::string& name, const std::string& path) const {
  UniqueFd next(::openat(parent, name.c_str(), kDirectory));
  if (next.valid()) return next;
  if (errno == ENOENT) {
    if (::mkdirat(parent, name.c_str(), 0755) != 0) return fail_at(errno, path);
    next = UniqueFd(::openat(parent, name.c_str(), kDirectory));
    // The mode is set, not left to umask and default ACLs.
    if (!next.valid() || ::fchmod(next.get(), 0755) != 0) return fail_at(errno, path);
    return next;
  }
  struct stat info {};
  if ((errno == ELOOP || errno == ENOTDIR) &&
      ::fstatat(parent, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) == 0) {
    if (S_ISLNK(info.st_mode))
      return fail(ErrorKind::refused, "'" + archive_ + "' holds '" + printable(path) +
                                          "', which leads through a symbolic link of the same archive");
    return fail(ErrorKind::corrupt,
                "'" + archive_ + "' holds '" + printable(path) + "' below something that is no directory");
  }
  return fail_at(errno, path);
}

Result<Tree::Place> Tree::place_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  if (slash == std::string::npos) return Place{root_.get(), path};
  const std::string_view parent_path = std::string_view(path).substr(0, slash);
  if (!parent_.valid() || parent_path != parent_path_) {
    UniqueFd directory;
    for (const std::string_view part : split(parent_path, '/')) {
      auto next = enter(directory.valid() ? directory.get() : root_.get(), std::string(part), path);
      if (!next) return tl::unexpected(next.error());
      directory = std::move(*next);
    }
    parent_ = std::move(directory);
    parent_path_ = parent_path;
  }
  return Place{parent_.get(), path.substr(slash + 1)};
}

// Takes an earlier member of this name out of the way. A directory would not go: unlink(2) refuses it.
Result<void> Tree::clear(const Place& place, const std::string& path) {
  if (::unlinkat(place.parent, place.name.c_str(), 0) == 0) return {};
  if (errno == EISDIR || errno == EPERM)
    return fail(ErrorKind::corrupt,
                "'" + archive_ + "' holds '" + printable(path) + "' as a directory and as something else");
  return fail_at(errno, path);
}

Result<void> Tree::make_directory(const std::string& path) {
  const auto place = place_of(path);
  if (!place) return tl::unexpected(place.error());
  const auto made = enter(place->parent, place->name, path);
  if (!made) return tl::unexpected(made.error());
  extracted_[path] = {Extracted::Type::directory, "", 0};
  return {};
}

Result<void> Tree::make_symlink(const std::string& path, const std::string& target) {
  const auto place = place_of(path);
  if (!place) return tl::unexpected(place.error());
  int made = ::symlinkat(target.c_str(), place->parent, place->name.c_str());
  if (made != 0 && errno == EEXIST) {
    if (const auto cleared = clear(*place, path); !cleared) return cleared;
    made = ::symlinkat(target.c_str(), place->parent, place->name.c_str());
  }
  if (made != 0) return fail_at(errno, path);
  extracted_[path] = {Extracted::Type::symlink, "", 0};
  return {};
}

Result<void> Tree::make_hard_link(const std::string& path, const std::string& existing) {
  const auto of = extracted_.find(existing);
  if (of == extracted_.end() || of->second.type == Extracted::Type::directory)
    return fail(ErrorKind::refused, "'" + archive_ + "' holds '" + printable(path) + "', a hard link to '" +
                                        printable(existing) + "', which is no file before it in the archive");
  if (existing == path) return {};
  const auto from = place_of(existing);
  if (!from) return tl::unexpected(from.error());
  // The place of the new name may replace the remembered parent.
  const UniqueFd held(::fcntl(from->parent, F_DUPFD_CLOEXEC, 0));
  if (!held.valid()) return fail_at(errno, path);
  const auto place = place_of(path);
  if (!place) return tl::unexpected(place.error());
  int made = ::linkat(held.get(), from->name.c_str(), place->parent, place->name.c_str(), 0);
  if (made != 0 && errno == EEXIST) {
    if (const auto cleared = clear(*place, path); !cleared) return cleared;
    made = ::linkat(held.get(), from->name.c_str(), place->parent, place->name.c_str(), 0);
  }
  if (made != 0) return fail_at(errno, path);
  extracted_[path] = Extracted(of->second);
  return {};
}

Result<void> Tree::begin_file(const std::string& path, bool executable, std::int64_t mtime) {
  const auto place = place_of(path);
  if (!place) return tl::unexpected(place.error());
  constexpr int kNew = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
  UniqueFd fd(::openat(place->parent, place->name.c_str(), kNew, 0600));
  if (!fd.valid() && errno == EEXIST) {
    if (const auto cleared = clear(*place, path); !cleared) return cleared;
    fd = UniqueFd(::openat(place->parent, place->name.c_str(), kNew, 0600));
  }
  if (!fd.valid()) return fail_at(errno, path);
  file_.emplace(OpenFile{std::move(fd), path, executable, std::max(mtime, k1980), 0, Hasher()});
  return {};
}

Result<void> Tree::append(std::string_view bytes) {
  file_->hasher.update(bytes);
  file_->size += bytes.size();
  if (!write_all(file_->fd.get(), bytes)) return fail_at(errno, file_->path);
  return {};
}

Result<void> Tree::finish_file() {
  const struct timespec time { file_->mtime, 0 };
  const struct timespec both[2] = {time, time};
  if (::fchmod(file_->fd.get(), file_->executable ? 0555 : 0444) != 0 || ::futimens(file_->fd.get(), both) != 0)
    return fail_at(errno, file_->path);
  // Some network file systems tell of a full disk only now.
  if (::close(file_->fd.release()) != 0) return fail_at(errno, file_->path);
  extracted_[file_->path] = {Extracted::Type::file, file_->hasher.hex(), file_->size};
  file_.reset();
  return {};
}

}  // namespace pinstep
