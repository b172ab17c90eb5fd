#include "launcher/worker/checkpoint/directory.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
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
constexpr std::size_t kKept = 2;
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
};

Result<Names> list(const std::string& path) {
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(path.c_str()), ::closedir);
  if (!directory) return fail_errno(errno, "read directory", path);
  Names names;
  while (const dirent* entry = ::readdir(directory.get())) {
    std::string_view name = entry->d_name;
    if (is_name(name)) names.whole.emplace_back(name);
    if (!name.ends_with(kAside)) continue;
    name.remove_suffix(kAside.size());
    if (is_name(name)) names.parts.emplace_back(entry->d_name);
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

Result<void> CheckpointDirectory::prepare() const {
  if (::mkdir(path_.c_str(), 0777) != 0 && errno != EEXIST) return fail_errno(errno, "make directory", path_);
  const std::string inside = path_ + "/.";  // of a file this says that it is no directory
  if (::access(inside.c_str(), R_OK | W_OK | X_OK) != 0) return fail_errno(errno, "write in", path_);
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
    const std::string aside = found.path + ".damaged";
    if (std::rename(found.path.c_str(), aside.c_str()) != 0) return fail_errno(errno, "rename to", aside);
  }
  if (names->whole.empty()) return std::nullopt;
  return fail(ErrorKind::corrupt,
              "no checkpoint in '" + path_ + "' can be read; the newest: " + found.damaged[0],
              "begin anew in another directory");
}

}  // namespace pinstep::worker
