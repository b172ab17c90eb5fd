#include "envtools/base/process_tag.h"

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"

namespace pinstep {
namespace {

// FNV-1a twice: two 32-bit values are enough to tell machines and namespaces apart.
std::string home_of_pids() {
  std::string text;
  if (const UniqueFd file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC)); file.valid()) {
    char id[64];
    const ssize_t got = ::read(file.get(), id, sizeof id);
    if (got > 0) text.assign(id, static_cast<std::size_t>(got));
  }
  char space[64];
  const ssize_t size = ::readlink("/proc/self/ns/pid", space, sizeof space);
  if (text.empty() || size <= 0) return {};
  text.append(space, static_cast<std::size_t>(size));
  char digits[17];
  std::snprintf(digits, sizeof digits, "%08x%08x", fnv1a(text), fnv1a(text + "+"));
  return digits;
}

// A process that is dead has a number until its parent asks for its exit status.
bool is_zombie(unsigned pid) {
  const UniqueFd file(::open(("/proc/" + std::to_string(pid) + "/stat").c_str(), O_RDONLY | O_CLOEXEC));
  char buffer[512];
  const ssize_t size = file.valid() ? ::read(file.get(), buffer, sizeof buffer) : 0;
  const std::string_view text(buffer, size > 0 ? static_cast<std::size_t>(size) : 0);
  const std::size_t name_end = text.rfind(") ");
  return name_end != text.npos && (text.substr(name_end + 2, 1) == "Z" || text.substr(name_end + 2, 1) == "X");
}

}  // namespace

std::string process_tag() {
  std::string home = home_of_pids();
  if (home.empty()) home.assign(16, '0');
  return home + "-" + std::to_string(::getpid());
}

bool is_gone(std::string_view tag) {
  const auto halves = split_once(tag, '-');
  if (!halves || halves->before != home_of_pids() || halves->before.empty()) return false;
  const auto pid = parse_number<unsigned>(halves->after);
  if (!pid || *pid == 0) return false;
  return (::kill(static_cast<pid_t>(*pid), 0) != 0 && errno == ESRCH) || is_zombie(*pid);
}

}  // namespace pinstep
