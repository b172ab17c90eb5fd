#include "envtools/execute/files.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "envtools/base/fd.h"

namespace pinstep {
namespace {

Result<UniqueFd> create(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!fd.valid()) return fail_errno(errno, "create", path);
  return fd;
}

Result<UniqueFd> open_source(const std::string& path) {
  UniqueFd fd(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NOFOLLOW));
  if (!fd.valid() && errno == ENOENT)
    return fail(ErrorKind::corrupt, "'" + path + "' is missing in the cache",
                "build again: the package is then unpacked anew");
  if (!fd.valid()) return fail_errno(errno, "open", path);
  return fd;
}

timespec seconds(std::int64_t time) { return {static_cast<time_t>(time), 0}; }

// Mode and times last: they are what a finished file has. close(2) is where NFS tells of a full disk.
Result<void> finish(UniqueFd fd, const std::string& path, const NewFile& as) {
  const timespec times[] = {seconds(as.time), seconds(as.time)};
  if (::fchmod(fd.get(), as.executable ? 0555 : 0444) != 0) return fail_errno(errno, "set the mode of", path);
  if (::futimens(fd.get(), times) != 0) return fail_errno(errno, "set the time of", path);
  if (::close(fd.release()) != 0) return fail_errno(errno, "write", path);
  return {};
}

Result<void> copy_content(int from, int to, const std::string& target) {
  // In the kernel where it can; a file system that cannot says so before anything is copied.
  bool copied = false;
  for (;;) {
    const ssize_t count = ::copy_file_range(from, nullptr, to, nullptr, 1 << 30, 0);
    if (count < 0 && errno == EINTR) continue;
    if (count == 0 && copied) return {};
    if (count <= 0 && !copied) break;
    if (count < 0) return fail_errno(errno, "write", target);
    copied = true;
  }
  std::vector<char> buffer(1 << 18);
  for (;;) {
    const ssize_t count = ::read(from, buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return fail_errno(errno, "read the source of", target);
    if (count == 0) return {};
    if (!write_all(to, {buffer.data(), static_cast<std::size_t>(count)}))
      return fail_errno(errno, "write", target);
  }
}

// False where cloning does not work; what was made is removed.
Result<bool> reflink(const std::string& source, const std::string& target, const NewFile& as) {
  auto from = open_source(source);
  if (!from) return tl::unexpected(from.error());
  auto to = create(target);
  if (!to) return tl::unexpected(to.error());
  if (::ioctl(to->get(), FICLONE, from->get()) != 0) {
    ::unlink(target.c_str());
    return false;
  }
  if (auto done = finish(std::move(*to), target, as); !done) return tl::unexpected(done.error());
  return true;
}

}  // namespace

LinkMethod probe_link_method(const std::string& file, const std::string& stage) {
  const std::string trial = stage + "/.link-trial";
  LinkMethod method = LinkMethod::copy;
  struct stat info {};
  if (auto cloned = reflink(file, trial, {}); cloned && *cloned)
    method = LinkMethod::reflink;
  else if (::stat(file.c_str(), &info) == 0 && info.st_uid == ::geteuid() &&
           ::link(file.c_str(), trial.c_str()) == 0)
    method = LinkMethod::hard_link;
  ::unlink(trial.c_str());
  return method;
}

Result<bool> link_file(const std::string& source, const std::string& target, LinkMethod method,
                       const NewFile& as) {
  if (method == LinkMethod::hard_link && ::link(source.c_str(), target.c_str()) == 0) return true;
  if (method == LinkMethod::reflink)
    if (auto cloned = reflink(source, target, as); !cloned || *cloned) return cloned;

  // Whatever kept this one file from being linked (too many links, another device, a protected file): a copy
  // is right too, and what keeps that from being made is the error to show.
  auto from = open_source(source);
  if (!from) return tl::unexpected(from.error());
  auto to = create(target);
  if (!to) return tl::unexpected(to.error());
  if (auto copied = copy_content(from->get(), to->get(), target); !copied)
    return tl::unexpected(copied.error());
  if (auto done = finish(std::move(*to), target, as); !done) return tl::unexpected(done.error());
  return false;
}

Result<void> write_new_file(const std::string& target, std::string_view content, const NewFile& as) {
  auto to = create(target);
  if (!to) return tl::unexpected(to.error());
  if (!write_all(to->get(), content)) return fail_errno(errno, "write", target);
  return finish(std::move(*to), target, as);
}

Result<void> make_symlink(const std::string& target, const std::string& text, std::int64_t time) {
  if (::symlink(text.c_str(), target.c_str()) != 0) return fail_errno(errno, "create", target);
  const timespec times[] = {seconds(time), seconds(time)};
  if (::utimensat(AT_FDCWD, target.c_str(), times, AT_SYMLINK_NOFOLLOW) != 0)
    return fail_errno(errno, "set the time of", target);
  return {};
}

}  // namespace pinstep
