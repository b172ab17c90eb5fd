#include "launcher/worker/checkpoint/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <memory>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "launcher/worker/data/npy.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {
namespace {

constexpr std::string_view kPrefix = "step-";
constexpr std::string_view kSuffix = ".safetensors";
constexpr std::string_view kDamaged = ".damaged";
constexpr const char* kLock = "/.lock";
constexpr std::size_t kKept = 2;
constexpr std::size_t kMostWords = 4096;  // of who has the lock
constexpr std::size_t kFileLimit = std::size_t{1} << 40;

std::string name_of(std::uint64_t steps) {
  const std::string digits = std::to_string(steps);
  constexpr std::size_t kDigits = 12;  // names then sort as numbers do
  return std::string(kPrefix) + std::string(kDigits - std::min(kDigits, digits.size()), '0') + digits +
         std::string(kSuffix);
}

bool is_name(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return false;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(std::min(kSuffix.size(), name.size()));
  return parse_number<std::uint64_t>(name).has_value();
}

struct Names {
  std::vector<std::string> whole;  // newest first
  std::vector<std::string> parts;  // that a killed write left
  std::vector<std::string> damaged;
};

Result<Names> list(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
  if (!directory) return fail_errno(errno, "read directory", path);
  Names names;
  while (const dirent* entry = ::readdir(directory.get())) {
    std::string_view name = entry->d_name;
    if (is_name(name)) names.whole.emplace_back(name);
    if (is_name(name.substr(0, name.rfind(kAside))) && name.rfind(kAside) != name.npos)
      names.parts.emplace_back(name);
    if (name.ends_with(kDamaged) && is_name(name.substr(0, name.size() - kDamaged.size())))
      names.damaged.emplace_back(name);
  }
  std::sort(names.whole.rbegin(), names.whole.rend());
  return names;
}

Result<void> sync_directory(const std::string& path) {
  const UniqueFd fd(::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (!fd.valid() || ::fsync(fd.get()) != 0) return fail_errno(errno, "sync directory", path);
  return {};
}

}  // namespace

Result<void> CheckpointDirectory::prepare(const std::string& who) {
  PINSTEP_TRY(prepare_directory(path_));
  const std::string path = path_ + kLock;
  lock_ = UniqueFd(::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666));
  if (!lock_.valid()) return fail_errno(errno, "open", path);
  // There are file systems without locks: there it is up to the user.
  if (::flock(lock_.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
    const auto holder = read_file(path, kMostWords);
    return fail(ErrorKind::busy,
                "another run keeps its checkpoints in '" + path_ +
                    "': " + printable(holder && !holder->text.empty() ? holder->text : "it does not say which"),
                "wait until it has ended, or give each run a directory of its own");
  }
  if (::ftruncate(lock_.get(), 0) != 0 || !write_all(lock_.get(), who)) return fail_errno(errno, "write", path);
  return {};
}

Result<std::string> CheckpointDirectory::write(const Checkpoint& checkpoint) const {
  const std::string name = name_of(checkpoint.position.steps);
  PINSTEP_TRY(write_whole(path_ + "/" + name, head_of(checkpoint), checkpoint.data));
  PINSTEP_TRY(sync_directory(path_));
  const auto names = list(path_);
  if (!names) return tl::unexpected(names.error());
  for (std::size_t i = kKept; i < names->whole.size(); ++i)
    std::remove((path_ + "/" + names->whole[i]).c_str());
  for (const std::string& part : names->parts) std::remove((path_ + "/" + part).c_str());
  return path_ + "/" + name;
}

Result<std::optional<CheckpointDirectory::Found>> CheckpointDirectory::newest() const {
  const auto names = list(path_);
  if (!names) return tl::unexpected(names.error());
  Found found;
  for (const std::string& name : names->whole) {
    found.path = path_ + "/" + name;
    const auto file = read_file(found.path, kFileLimit, Links::followed);
    if (!file) return tl::unexpected(file.error());
    auto checkpoint = parse_checkpoint(file->text, found.path);
    if (checkpoint) {
      found.checkpoint = std::move(*checkpoint);
      return found;
    }
    if (checkpoint.error().kind != ErrorKind::corrupt) return tl::unexpected(checkpoint.error());
    found.damaged.push_back(checkpoint.error().cause);
    // Out of the way: else it would be kept as the newest, and one that can be read go.
    const std::string aside = found.path + std::string(kDamaged);
    if (std::rename(found.path.c_str(), aside.c_str()) != 0) return fail_errno(errno, "rename to", aside);
  }
  // Also the next time: a run that went on must not turn into one that begins anew without a word.
  if (names->whole.empty() && names->damaged.empty()) return std::nullopt;
  const std::string why = names->whole.empty() ? std::to_string(names->damaged.size()) + " damaged, such as '" +
                                                     path_ + "/" + names->damaged[0] + "'"
                                               : "the newest: " + found.damaged[0];
  return fail(ErrorKind::corrupt, "no checkpoint in '" + path_ + "' can be read; " + why,
              "to begin anew, remove the files *.damaged there, or give another directory");
}

}  // namespace pinstep::worker
