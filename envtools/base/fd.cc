#include "envtools/base/fd.h"

#include <fcntl.h>

#include <cstdlib>
#include <memory>
#include <optional>

namespace pinstep {

Result<FileContent> read_file(const std::string& path, std::size_t limit, Links links) {
  // O_NONBLOCK: opening a FIFO would otherwise wait for its writer. It means nothing to a regular file.
  const int nofollow = links == Links::refused ? O_NOFOLLOW : 0;
  UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | nofollow));
  const auto not_regular = [&] { return fail(ErrorKind::corrupt, "'" + path + "' is not a regular file"); };
  if (!file.valid() && errno == ENXIO) return not_regular();  // a socket
  if (!file.valid()) {
    const int error_number = errno;
    if (struct stat link{}; error_number == ELOOP && ::lstat(path.c_str(), &link) == 0 && S_ISLNK(link.st_mode))
      return fail(ErrorKind::refused, "'" + path + "' is a symbolic link, which is not followed here");
    return fail_errno(error_number, "open", path);
  }

  FileContent content{};
  if (::fstat(file.get(), &content.info) != 0) return fail_errno(errno, "inspect", path);
  if (!S_ISREG(content.info.st_mode)) return not_regular();
  if (content.info.st_size > static_cast<off_t>(limit))
    return fail(ErrorKind::corrupt, "'" + path + "' is longer than " + std::to_string(limit) + " bytes");

  // One byte more than the size: a file that has grown meanwhile must not pass for whole.
  const auto size = static_cast<std::size_t>(content.info.st_size);
  content.text.resize(size + 1);
  std::size_t filled = 0;
  while (filled < content.text.size()) {
    const ssize_t got = ::read(file.get(), content.text.data() + filled, content.text.size() - filled);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return fail_errno(errno, "read", path);
    if (got == 0) break;
    filled += static_cast<std::size_t>(got);
    if (filled == size) break;  // spares the read that would only return 0
  }
  if (filled != size) return fail(ErrorKind::corrupt, "'" + path + "' changed while it was read");
  content.text.resize(size);
  return content;
}

std::string read_kernel_file(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  char buffer[4096];
  const ssize_t got = file.valid() ? ::read(file.get(), buffer, sizeof buffer) : 0;
  return std::string(buffer, got > 0 ? static_cast<std::size_t>(got) : 0);
}

bool write_all(int fd, std::string_view bytes) noexcept {
  while (!bytes.empty()) {
    const ssize_t written = ::write(fd, bytes.data(), bytes.size());
    if (written < 0 && errno != EINTR) return false;
    if (written > 0) bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

namespace {

Result<void> write_in_place(const std::string& path, std::string_view text) {
  const UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (!file.valid() || !write_all(file.get(), text)) return fail_errno(errno, "write", path);
  return {};
}

// What there is to rename onto: the file itself, not a link to it. Nothing for what no file may take the place
// of, such as /dev/null, a FIFO or a link to nothing.
std::optional<std::string> place_of(const std::string& path) {
  struct stat info {};
  if (::stat(path.c_str(), &info) != 0)
    return ::lstat(path.c_str(), &info) == 0 ? std::nullopt : std::optional(path);
  if (!S_ISREG(info.st_mode)) return std::nullopt;
  const std::unique_ptr<char, void (*)(void*)> real(::realpath(path.c_str(), nullptr), std::free);
  return real ? std::string(real.get()) : path;
}

}  // namespace

// Devices, FIFOs and links to nothing are written in place, and of a link its target is replaced.
Result<void> replace_file(const std::string& given, std::string_view text) {
  const auto place = place_of(given);
  if (!place) return write_in_place(given, text);
  const std::string& path = *place;
  std::string aside = path + ".XXXXXX";
  UniqueFd file(::mkostemp(aside.data(), O_CLOEXEC));
  if (!file.valid()) return fail_errno(errno, "write", path);
  const auto discard = [&] {
    const int error_number = errno;
    ::unlink(aside.c_str());
    return fail_errno(error_number, "write", path);
  };
  const mode_t mask = ::umask(0);
  ::umask(mask);
  struct stat before {};
  const mode_t mode = ::stat(path.c_str(), &before) == 0 ? before.st_mode & 0777 : 0666 & ~mask;
  if (!write_all(file.get(), text)) return discard();
  if (::fchmod(file.get(), mode) != 0 || ::fsync(file.get()) != 0) return discard();
  if (::rename(aside.c_str(), path.c_str()) != 0) return discard();
  return {};
}

void write_message(int fd, std::string_view text) noexcept {
  [[maybe_unused]] const ssize_t written = ::write(fd, text.data(), text.size());
}

}  // namespace pinstep
