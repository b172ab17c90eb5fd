#include "envtools/fetch/part_file.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/statvfs.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <vector>

#include "envtools/base/process_tag.h"

namespace pinstep {
namespace {

constexpr std::string_view kPart = ".part";
constexpr std::string_view kAnotherFile =
    "the server or a proxy on the way gives another file than the lock names";
constexpr std::uint64_t kReserve = 64 << 20;   // bytes of a disk that are left to others
constexpr std::uint64_t kSpaceStep = 4 << 20;  // bytes for which space is looked for at once
constexpr std::time_t kLeftAlone = 24 * 3600;  // seconds without a byte after which nobody is at it

tl::unexpected<Error> wrong_digest(const FetchFile& file, const char* name, const std::string& is,
                                   const std::string& wanted) {
  return fail(ErrorKind::corrupt, "'" + file.path + "' was fetched with " + name + " " + is + ", not " + wanted,
              std::string(kAnotherFile));
}

}  // namespace

Result<PartFile> PartFile::open(const FetchFile& file) {
  PartFile part(file, file.path + std::string(kPart) + "." + process_tag());
  if (!file.md5.empty() && file.sha256.empty()) part.md5_.emplace(Digest::md5);
  const std::string left = file.path + std::string(kPart);
  if (::rename(left.c_str(), part.own_.c_str()) != 0 && errno != ENOENT)
    return fail_errno(errno, "take over", left);
  part.fd_ = UniqueFd(::open(part.own_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!part.fd_.valid()) return fail_errno(errno, "make", part.own_);
  ::futimens(part.fd_.get(), nullptr);  // somebody is at it again: see kLeftAlone
  if (const auto taken = part.take_in(); !taken) return tl::unexpected(taken.error());
  return part;
}

Result<void> PartFile::take_in() {
  std::vector<char> buffer(1 << 18);
  for (;;) {
    const ssize_t got = ::read(fd_.get(), buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "read", own_);
    if (got == 0) break;
    const std::string_view bytes(buffer.data(), static_cast<std::size_t>(got));
    sha256_.update(bytes);
    if (md5_) md5_->update(bytes);
    size_ += bytes.size();
  }
  return file_->size != 0 && size_ > file_->size ? restart() : Result<void>();
}

PartFile::~PartFile() {
  if (!fd_.valid() || own_.empty()) return;  // moved from, or published
  const std::string left = file_->path + std::string(kPart);
  if (size_ == 0 || ::rename(own_.c_str(), left.c_str()) != 0) ::unlink(own_.c_str());
}

Result<void> PartFile::check_space(std::uint64_t bytes) const {
  struct statvfs disk {};
  if (::fstatvfs(fd_.get(), &disk) != 0 || disk.f_blocks == 0) return {};  // write(2) will say it
  const std::uint64_t reserve = std::min(kReserve, disk.f_blocks * disk.f_frsize / 16);
  const std::uint64_t free = disk.f_bavail * disk.f_frsize;
  if (bytes + reserve <= free) return {};
  return fail(ErrorKind::no_space,
              "'" + file_->path + "' needs " + std::to_string(bytes >> 20) + " MiB more, and its disk has " +
                  std::to_string(free >> 20) + " MiB of which " + std::to_string(reserve >> 20) + " stay free",
              "free some, or name a store on another disk: store=DIR");
}

Result<void> PartFile::expect(std::uint64_t rest) const {
  if (rest > kArtifactLimit - std::min(size_, kArtifactLimit))
    return fail(ErrorKind::corrupt,
                "'" + file_->path + "' would have more than the " + std::to_string(kArtifactLimit >> 30) +
                    " GiB that an artifact can have",
                std::string(kAnotherFile));
  return check_space(rest);
}

Result<void> PartFile::append(std::string_view bytes) {
  if (file_->size != 0 && size_ + bytes.size() > file_->size)
    return fail(
        ErrorKind::corrupt,
        "'" + file_->path + "' is longer than the " + std::to_string(file_->size) + " bytes it should have",
        std::string(kAnotherFile));
  if (size_ + bytes.size() > space_known_to_) {
    const std::uint64_t step = std::max<std::uint64_t>(bytes.size(), kSpaceStep);
    const std::uint64_t wanted = file_->size != 0 ? std::min(step, file_->size - size_) : step;
    if (auto fits = expect(wanted); !fits) return fits;
    space_known_to_ = size_ + wanted;
  }
  sha256_.update(bytes);
  if (md5_) md5_->update(bytes);
  size_ += bytes.size();
  if (!write_all(fd_.get(), bytes)) return fail_errno(errno, "write", file_->path);
  return {};
}

Result<void> PartFile::restart() {
  if (::ftruncate(fd_.get(), 0) != 0 || ::lseek(fd_.get(), 0, SEEK_SET) != 0)
    return fail_errno(errno, "empty", own_);
  size_ = space_known_to_ = 0;
  sha256_ = Hasher();
  if (md5_) md5_.emplace(Digest::md5);
  return {};
}

Result<std::string> PartFile::publish() {
  if (file_->size != 0 && size_ != file_->size)
    return fail(ErrorKind::corrupt,
                "'" + file_->path + "' was fetched with " + std::to_string(size_) + " bytes, not " +
                    std::to_string(file_->size),
                std::string(kAnotherFile));
  std::string sha256 = sha256_.hex();
  if (!file_->sha256.empty() && sha256 != file_->sha256)
    return wrong_digest(*file_, "sha256", sha256, file_->sha256);
  if (md5_)
    if (const std::string md5 = md5_->hex(); md5 != file_->md5)
      return wrong_digest(*file_, "md5", md5, file_->md5);
  if (::fchmod(fd_.get(), 0444) != 0) return fail_errno(errno, "set the mode of", own_);
  // Some network file systems tell of a full disk only now.
  if (::close(fd_.release()) != 0) return fail_errno(errno, "write", file_->path);
  if (::rename(own_.c_str(), file_->path.c_str()) != 0)
    return fail_errno(errno, "rename a download to", file_->path);
  own_.clear();
  return sha256;
}

std::optional<std::string> already_there(const FetchFile& file) {
  struct stat info {};
  if (::lstat(file.path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  if (file.size != 0 && static_cast<std::uint64_t>(info.st_size) != file.size) return std::nullopt;
  const auto sha256 = hash_file(file.path);
  if (!sha256 || (!file.sha256.empty() && *sha256 != file.sha256)) return std::nullopt;
  if (file.sha256.empty() && !file.md5.empty()) {
    const auto md5 = hash_file(file.path, Digest::md5);
    if (!md5 || *md5 != file.md5) return std::nullopt;
  }
  return *sha256;
}

void adopt_leftovers(const std::string& directory) {
  DIR* const open = ::opendir(directory.c_str());
  if (open == nullptr) return;
  const int at = ::dirfd(open);
  const std::time_t now = ::time(nullptr);
  while (const struct dirent* entry = ::readdir(open)) {
    const std::string name = entry->d_name;
    const std::size_t part = name.rfind(".part.");
    if (part == std::string::npos) continue;
    struct stat info {};
    if (::fstatat(at, name.c_str(), &info, AT_SYMLINK_NOFOLLOW) != 0 || !S_ISREG(info.st_mode)) continue;
    if (!is_gone(std::string_view(name).substr(part + 6)) && now - info.st_mtime < kLeftAlone) continue;
    const std::string left = name.substr(0, part) + std::string(kPart);
    if (info.st_size == 0 || ::linkat(at, name.c_str(), at, left.c_str(), 0) == 0 || errno == EEXIST)
      ::unlinkat(at, name.c_str(), 0);
    else
      ::renameat(at, name.c_str(), at, left.c_str());  // a file system without hard links
  }
  ::closedir(open);
}

}  // namespace pinstep
