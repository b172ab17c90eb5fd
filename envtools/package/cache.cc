#include "envtools/package/cache.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>

#include <algorithm>
#include <cstdlib>
#include <ctime>
#include <filesystem>

#include "envtools/base/fd.h"
#include "envtools/base/process_tag.h"
#include "envtools/base/text.h"
#include "envtools/hash/hash.h"
#include "envtools/package/names.h"
#include "envtools/package/package.h"
#include "envtools/package/unpack.h"

namespace pinstep {
namespace {

constexpr std::time_t kLeftAlone = 24 * 3600;  // seconds after which nobody can still be extracting
constexpr std::size_t kMarkerLimit = 1024;     // bytes

bool is_directory(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}

void remove_all(const std::string& path) {
  std::error_code ignored;
  std::filesystem::remove_all(path, ignored);
}

// A directory of our own under CACHE/.extract, gone at the end unless it was renamed away.
class Aside {
 public:
  explicit Aside(std::string path) : path_(std::move(path)) {}
  ~Aside() { remove_all(path_); }
  Aside(const Aside&) = delete;
  Aside& operator=(const Aside&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// What killed processes left. Of those on other machines only the age can be known.
void remove_leftovers(const std::string& directory) {
  DIR* const open = ::opendir(directory.c_str());
  if (open == nullptr) return;
  const std::time_t now = ::time(nullptr);
  while (const struct dirent* entry = ::readdir(open)) {
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..") continue;
    struct stat info {};
    if (::fstatat(::dirfd(open), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) != 0) continue;
    if (is_gone(name.substr(0, name.find('.'))) || now - info.st_mtime > kLeftAlone)
      remove_all(directory + "/" + entry->d_name);
  }
  ::closedir(open);
}

Result<std::string> make_aside(const std::string& cache) {
  const std::string directory = cache + "/.extract";
  if (::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) return fail_errno(errno, "make", directory);
  remove_leftovers(directory);
  std::string path = directory + "/" + process_tag() + ".XXXXXX";
  if (::mkdtemp(path.data()) == nullptr) return fail_errno(errno, "make a directory in", directory);
  if (::chmod(path.c_str(), 0755) != 0) return fail_errno(errno, "set the mode of", path);
  return path;
}

std::string_view called(Extracted::Type type) {
  switch (type) {
    case Extracted::Type::file:
      return "a file";
    case Extracted::Type::symlink:
      return "a symbolic link";
    case Extracted::Type::directory:
      break;
  }
  return "a directory";
}

Extracted::Type wanted(PackagePath::Type type) {
  if (type == PackagePath::Type::file) return Extracted::Type::file;
  return type == PackagePath::Type::symlink ? Extracted::Type::symlink : Extracted::Type::directory;
}

// What was extracted against what the package says of itself. Files that it does not list are never linked
// into a prefix, so they do no harm.
Result<void> check(const PackageInfo& info, const ExtractedTree& tree, const std::string& archive) {
  const auto corrupt = [&](const PackagePath& path, const std::string& why) {
    return fail(ErrorKind::corrupt, "'" + archive + "' holds '" + printable(path.path) + "' " + why,
                "the package is not what its info/paths.json says; fetch it anew or use another build of it");
  };
  for (const PackagePath& path : info.paths) {
    const auto found = tree.find(path.path);
    if (found == tree.end()) {
      if (path.type == PackagePath::Type::directory) continue;  // made when the package is linked
      return fail(ErrorKind::corrupt, "'" + archive + "' lacks '" + printable(path.path) + "', which it lists");
    }
    const Extracted& is = found->second;
    if (is.type != wanted(path.type))
      return corrupt(path, "as " + std::string(called(is.type)) + " and lists it as " +
                               std::string(called(wanted(path.type))));
    if (path.type != PackagePath::Type::file || path.sha256.empty()) continue;
    if (is.size != path.size)
      return corrupt(
          path, "with " + std::to_string(is.size) + " bytes and lists it with " + std::to_string(path.size));
    if (is.sha256 != path.sha256) return corrupt(path, "with another sha256 than it lists");
  }
  return {};
}

// ---- how a directory was when it was unpacked

// One line for whatever changes when an entry is changed; nothing for what is no part of the package. Not the
// permission to write: linked files share theirs with prefixes, where people take it back to delete.
Result<std::string> line_of(const std::string& directory, const std::string& path) {
  struct stat info {};
  if (::lstat((directory + "/" + path).c_str(), &info) != 0)
    return fail_errno(errno, "inspect", directory + "/" + path);
  std::string line;
  if (S_ISREG(info.st_mode)) {
    line = ((info.st_mode & S_IXUSR) != 0 ? "program " : "file ") + std::to_string(info.st_size) + " " +
           std::to_string(info.st_mtim.tv_sec) + "." + std::to_string(info.st_mtim.tv_nsec);
  } else if (S_ISLNK(info.st_mode)) {
    std::error_code error;
    const auto target = std::filesystem::read_symlink(directory + "/" + path, error);
    if (error) return fail_errno(error.value(), "read the link", directory + "/" + path);
    line = "link " + std::to_string(target.native().size()) + " " + target.native();
  } else {
    line = S_ISDIR(info.st_mode) ? "directory" : "other";
  }
  return line + " " + path + '\0';
}

// The text of the marker for a directory as it is now.
Result<std::string> marker_text(const std::string& directory, const std::string& sha256) {
  std::vector<std::string> lines;
  std::error_code error;
  auto entry = std::filesystem::recursive_directory_iterator(directory, error);
  for (; !error && entry != std::filesystem::recursive_directory_iterator(); entry.increment(error)) {
    const std::string path = entry->path().native().substr(directory.size() + 1);
    if (path == kUnpackedMarker) continue;
    auto line = line_of(directory, path);
    if (!line) return tl::unexpected(line.error());
    lines.push_back(std::move(*line));
  }
  if (error) return fail_errno(error.value(), "list", directory);
  std::sort(lines.begin(), lines.end());
  Hasher hasher;
  for (const std::string& line : lines) hasher.update(line);
  return "1\narchive " + sha256 + "\nfiles " + hasher.hex() + "\n";
}

Result<void> mark(const std::string& directory, const std::string& sha256) {
  const auto text = marker_text(directory, sha256);
  if (!text) return tl::unexpected(text.error());
  const std::string path = directory + "/" + std::string(kUnpackedMarker);
  UniqueFd file(::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0444));
  if (!file.valid() || ::write(file.get(), text->data(), text->size()) != static_cast<ssize_t>(text->size()) ||
      ::close(file.release()) != 0)
    return fail_errno(errno, "write", path);
  return {};
}

Result<void> check_marked(const std::string& directory, const std::string& sha256) {
  const auto marker = read_file(directory + "/" + std::string(kUnpackedMarker), kMarkerLimit);
  const auto now = marker ? marker_text(directory, sha256) : tl::unexpected(marker.error());
  if (now && *now == marker->text) return {};
  return fail(ErrorKind::corrupt, "'" + directory + "' is not as it was unpacked",
              "build again: the package is then unpacked anew");
}

// What is wrong with a package is told by its name: the directory that it was found in is gone by then.
Error without_path(Error error, const std::string& path, const std::string& name) {
  if (error.kind == ErrorKind::no_space) return error;
  for (std::size_t at = 0; (at = error.cause.find(path, at)) != std::string::npos; at += name.size())
    error.cause.replace(at, path.size(), name);
  return error;
}

}  // namespace

Result<std::string> cached(const std::string& cache, const std::string& name, const std::string& sha256,
                           const std::function<Result<void>(const std::string& directory)>& fill) {
  if (!is_inner_path(name) || name.find('/') != std::string::npos || name.front() == '.' || !is_hex(sha256, 64))
    return fail(ErrorKind::invalid, "'" + printable(name) + "' with sha256 '" + printable(sha256) +
                                        "' cannot be a name in the package cache");
  const std::string home = cache + "/" + name + "-" + sha256.substr(0, 16);
  if (is_directory(home)) {
    if (const auto whole = check_marked(home, sha256); !whole) return tl::unexpected(whole.error());
    return home;
  }

  auto made = make_aside(cache);
  if (!made) return tl::unexpected(made.error());
  const Aside aside(std::move(*made));
  auto filled = fill(aside.path());
  if (filled) filled = mark(aside.path(), sha256);
  if (!filled) return tl::unexpected(without_path(filled.error(), aside.path(), name));

  // Loses against a directory that is there: then another process was faster, with the same content.
  if (::rename(aside.path().c_str(), home.c_str()) != 0 && !is_directory(home))
    return fail_errno(errno, "rename the extracted package to", home);
  return home;
}

Result<void> remove_cached(const std::string& directory) {
  auto made = make_aside(directory.substr(0, directory.rfind('/')));
  if (!made) return tl::unexpected(made.error());
  const Aside aside(std::move(*made));
  if (::rename(directory.c_str(), aside.path().c_str()) != 0 && errno != ENOENT)
    return fail_errno(errno, "remove", directory);
  return {};
}

Result<std::string> extract_into_cache(const std::string& archive, const std::string& cache,
                                       const std::string& stem, const std::string& sha256) {
  return cached(cache, stem, sha256, [&](const std::string& directory) -> Result<void> {
    const auto tree = extract_archive(archive, directory);
    if (!tree) return tl::unexpected(tree.error());
    const auto info = read_package(directory);
    if (!info) return tl::unexpected(info.error());
    return check(*info, *tree, archive);
  });
}

}  // namespace pinstep
