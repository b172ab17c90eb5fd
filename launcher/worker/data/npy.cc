#include "launcher/worker/data/npy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <random>

#include "envtools/base/fd.h"

namespace pinstep::worker {

std::string npy_head(std::string_view descr, const std::vector<std::size_t>& shape) {
  std::string sizes;
  for (const std::size_t size : shape) sizes += std::to_string(size) + ", ";
  std::string text =
      "{'descr': '" + std::string(descr) + "', 'fortran_order': False, 'shape': (" + sizes + "), }";
  // Magic and length take 10 bytes; blanks and a newline bring the whole to a multiple of 64.
  text.append(63 - (10 + text.size()) % 64, ' ') += '\n';
  std::string head("\x93NUMPY\x01\x00", 8);
  head += static_cast<char>(text.size() & 0xff);
  head += static_cast<char>(text.size() >> 8);
  return head + text;
}

Result<void> write_whole(const std::string& path, std::string_view head, std::string_view body) {
  std::random_device random;  // others may write the same file, on other nodes
  const std::string aside = path + std::string(kAside) + std::to_string(random());
  UniqueFd fd(::open(aside.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644));
  if (!fd.valid()) return fail_errno(errno, "write", path);
  const auto failed = [&](const char* what, const std::string& which) {
    auto error = fail_errno(errno, what, which);
    ::unlink(aside.c_str());  // where the disk is full, others need the room
    return error;
  };
  if (!write_all(fd.get(), head) || !write_all(fd.get(), body) || ::fsync(fd.get()) != 0)
    return failed("write", path);
  if (std::rename(aside.c_str(), path.c_str()) != 0) return failed("rename to", path);
  return {};
}

Result<void> prepare_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) != 0 && errno != EEXIST) return fail_errno(errno, "make directory", path);
  const std::string inside = path + "/.";  // of a file this says that it is no directory
  if (::access(inside.c_str(), R_OK | W_OK | X_OK) != 0) return fail_errno(errno, "write in", path);
  return {};
}

}  // namespace pinstep::worker
