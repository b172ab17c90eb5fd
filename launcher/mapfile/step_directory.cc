#include "launcher/mapfile/step_directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <ctime>
#include <memory>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"

namespace pinstep {
namespace {

constexpr std::size_t kMostBytes = 1 << 20;
constexpr Clock::Milliseconds kPause{2};
constexpr off_t kRoom = 64 * 1024;  // bytes: more than most maps
constexpr std::time_t kYoung = 60;  // seconds: a step that is just beginning

// What is made while it lives has the mode that it is made with.
class OwnModes {
 public:
  OwnModes() : umask_(::umask(0)) {}
  ~OwnModes() { ::umask(umask_); }
  OwnModes(const OwnModes&) = delete;
  OwnModes& operator=(const OwnModes&) = delete;

 private:
  mode_t umask_;
};

Result<void> check_private(const std::string& path, uid_t uid) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0) return fail_errno(errno, "look at", path);
  const bool is_own = info.st_uid == uid;
  if (!S_ISDIR(info.st_mode) || !is_own || (info.st_mode & 077) != 0)
    return fail(ErrorKind::refused, "'" + path + "' is not a directory of this user alone",
                is_own ? "remove it" : "");
  if ((info.st_mode & 0777) != 0700 && ::chmod(path.c_str(), 0700) != 0)
    return fail_errno(errno, "make usable", path);
  return {};
}

Result<void> check_room(const std::string& path) {
  const UniqueFd file(::open(path.c_str(), O_TMPFILE | O_WRONLY | O_CLOEXEC, 0600));
  if (!file.valid() && (errno == EOPNOTSUPP || errno == EISDIR)) return {};  // writing will tell
  if (!file.valid()) return fail_errno(errno, "make a file in", path);
  if (const int error = ::posix_fallocate(file.get(), 0, kRoom); error != 0 && error != EOPNOTSUPP)
    return fail_errno(error, "write a file in", path);
  return {};
}

Result<void> write_whole(const std::string& path, std::string_view text) {
  const OwnModes modes;
  const std::string aside = path + "." + std::to_string(::getpid());
  UniqueFd file(::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return fail_errno(errno, "make", aside);
  if (!write_all(file.get(), text)) {
    const int error = errno;
    ::unlink(aside.c_str());
    return fail_errno(error, "write", aside);
  }
  if (::rename(aside.c_str(), path.c_str()) != 0) return fail_errno(errno, "rename", aside);
  return {};
}

// "boot=<id> pid=<of the first rank> inputs=<hash>"
std::string_view header_line(std::string_view text) { return text.substr(0, text.find('\n')); }

std::string_view field(std::string_view line, std::string_view name) {
  for (const std::string_view word : split(line, ' ')) {
    const auto halves = split_once(word, '=');
    if (halves && halves->before == name) return halves->after;
  }
  return {};
}

bool is_ours(std::string_view line, std::string_view header) {
  return field(line, "boot") == field(header, "boot") && field(line, "inputs") == field(header, "inputs");
}

bool runs(std::string_view pid) {
  const auto number = parse_number<unsigned>(pid);
  return !number || ::kill(static_cast<pid_t>(*number), 0) == 0 || errno != ESRCH;
}

bool is_stale(const std::string& path, std::string_view boot) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode)) return false;
  if (info.st_mtime > std::time(nullptr) - kYoung) return false;
  const auto map = read_file(path + "/map", kMostBytes);
  if (!map) return true;
  const std::string_view header = header_line(map->text);
  return field(header, "boot") != boot || !runs(field(header, "pid"));
}

using Directory = std::unique_ptr<DIR, int (*)(DIR*)>;

std::vector<std::string> names_in(const std::string& path) {
  std::vector<std::string> names;
  const Directory directory(::opendir(path.c_str()), &::closedir);
  if (directory == nullptr) return names;
  while (const dirent* entry = ::readdir(directory.get()))
    if (entry->d_name[0] != '.') names.emplace_back(entry->d_name);
  return names;
}

}  // namespace

Result<std::string> user_directory(const std::vector<std::string>& parents, uid_t uid) {
  const OwnModes modes;
  Result<void> last = fail(ErrorKind::os, "there is no directory for maps");
  for (const std::string& parent : parents) {
    std::string path = parent + "/pinstep-" + std::to_string(uid);
    if (::mkdir(path.c_str(), 0700) != 0 && errno != EEXIST) {
      last = fail_errno(errno, "make", path);
      continue;
    }
    last = check_private(path, uid);
    if (last) last = check_room(path);
    if (last) return path;
  }
  return tl::unexpected(last.error());
}

Result<StepDirectory> StepDirectory::enter(const std::string& top, const std::string& step,
                                           const std::string& inputs) {
  const OwnModes modes;
  const std::string path = top + "/" + step;
  const bool is_first = ::mkdir(path.c_str(), 0700) == 0;
  if (!is_first && errno != EEXIST) return fail_errno(errno, "make", path);
  char hash[16];
  std::snprintf(hash, sizeof hash, "%08x", fnv1a(inputs));
  const std::string boot = boot_id();
  if (is_first) remove_stale(top, boot);
  return StepDirectory(path, "boot=" + boot + " pid=" + std::to_string(::getpid()) + " inputs=" + hash,
                       is_first);
}

Result<void> StepDirectory::report(std::uint32_t rank, std::string_view text) const {
  return write_whole(path_ + "/rank." + std::to_string(rank), text);
}

Result<std::vector<std::string>> StepDirectory::reports(std::uint32_t ranks, Clock& clock,
                                                        Clock::Milliseconds patience) const {
  std::vector<std::string> reports;
  const auto end = clock.now() + patience;
  while (reports.size() < ranks) {
    const auto file = read_file(path_ + "/rank." + std::to_string(reports.size()), kMostBytes);
    if (file) {
      reports.push_back(file->text);
    } else if (clock.now() >= end) {
      return fail(ErrorKind::timed_out,
                  "local rank " + std::to_string(reports.size()) + " has not come to say which GPUs it has");
    } else {
      clock.sleep(kPause);
    }
  }
  return reports;
}

Result<void> StepDirectory::publish(std::string_view map) const {
  return write_whole(path_ + "/map", header_ + "\n" + std::string(map));
}

std::optional<std::string> StepDirectory::find() const {
  const auto file = read_file(path_ + "/map", kMostBytes);
  if (!file || !is_ours(header_line(file->text), header_)) return std::nullopt;
  return file->text.substr(header_line(file->text).size() + 1);
}

std::optional<std::string> StepDirectory::wait(Clock& clock, Clock::Milliseconds patience) const {
  const std::string path = path_ + "/map";
  const auto end = clock.now() + patience;
  for (;;) {
    // A map that is there and not ours will not become ours.
    if (::access(path.c_str(), F_OK) == 0 || clock.now() >= end) return find();
    clock.sleep(kPause);
  }
}

std::optional<bool> StepDirectory::claim(std::string_view what) const {
  const std::string name = path_ + "/said." + std::string(what) + "." + std::string(field(header_, "inputs"));
  const UniqueFd file(::open(name.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
  if (!file.valid() && errno != EEXIST) return std::nullopt;
  return file.valid();
}

void remove_stale(const std::string& top, const std::string& boot) {
  for (const std::string& step : names_in(top)) {
    const std::string path = top + "/" + step;
    if (!is_stale(path, boot)) continue;
    for (const std::string& file : names_in(path)) ::unlink((path + "/" + file).c_str());
    ::rmdir(path.c_str());
  }
}

std::string boot_id() {
  const UniqueFd file(::open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC));
  char text[64];
  const ssize_t got = file.valid() ? ::read(file.get(), text, sizeof text) : 0;
  return std::string(trim(std::string_view(text, got > 0 ? static_cast<std::size_t>(got) : 0)));
}

}  // namespace pinstep
