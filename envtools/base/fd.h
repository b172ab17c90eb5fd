// A file descriptor that closes itself, and the few whole-file operations built on it.
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include "envtools/base/error.h"

namespace pinstep {

class UniqueFd {
 public:
  UniqueFd() = default;
  explicit UniqueFd(int fd) : fd_(fd) {}
  UniqueFd(UniqueFd&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  UniqueFd& operator=(UniqueFd&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  ~UniqueFd() { reset(); }

  int get() const { return fd_; }
  bool valid() const { return fd_ >= 0; }
  int release() { return std::exchange(fd_, -1); }
  void reset() {
    if (fd_ >= 0) ::close(std::exchange(fd_, -1));
  }

 private:
  int fd_ = -1;
};

struct FileContent {
  std::string text;
  struct stat info;  // of the open file, so that owner and content belong together
};

// Whether the last component of a path may be a symbolic link.
enum class Links { refused, followed };

// Reads a regular file of at most `limit` bytes. A FIFO or device is refused without waiting for it.
// Errors: not_found, refused, corrupt (too long, not a regular file), os.
Result<FileContent> read_file(const std::string& path, std::size_t limit, Links links = Links::refused);

// What a file of /proc or /sys holds, whose size is not known before; at most 4096 bytes. "" where it cannot be
// read.
std::string read_kernel_file(const std::string& path);

// False where not all of it could be written; errno says why.
bool write_all(int fd, std::string_view bytes) noexcept;

// Replaces a user's file by one rename, or makes it: mode as before, else as the umask has it. What is there stays
// whole until then. Errors: refused, no_space, os.
Result<void> replace_file(const std::string& path, std::string_view text);

// Writes the text with one write(2) and ignores failure: a message whose reader is gone is lost.
void write_message(int fd, std::string_view text) noexcept;

}  // namespace pinstep
