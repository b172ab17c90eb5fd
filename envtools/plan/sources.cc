// What the file system knows of an unpacked package: the edge of planning.
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <climits>

#include "envtools/plan/plan.h"

namespace pinstep {
namespace {

tl::unexpected<Error> damaged(const std::string& path, const std::string& how) {
  return fail(ErrorKind::corrupt, "'" + path + "' " + how, "build again: the package is then unpacked anew");
}

Result<FileFacts> facts_of(const std::string& path, const struct stat& info) {
  FileFacts facts;
  facts.executable = (info.st_mode & S_IXUSR) != 0;
  facts.time = info.st_mtime;
  if (!S_ISLNK(info.st_mode)) return facts;
  facts.link_text.resize(PATH_MAX);
  const ssize_t size = ::readlink(path.c_str(), facts.link_text.data(), facts.link_text.size());
  if (size < 0) return fail_errno(errno, "read the link", path);
  facts.link_text.resize(static_cast<std::size_t>(size));
  return facts;
}

// Extraction has checked all content, and the cache that nothing was changed since.
Result<FileFacts> inspect(const std::string& path, PackagePath::Type type) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0)
    return errno == ENOENT ? Result<FileFacts>(damaged(path, "is missing in the cache"))
                           : Result<FileFacts>(fail_errno(errno, "inspect", path));
  const bool right = type == PackagePath::Type::symlink     ? S_ISLNK(info.st_mode)
                     : type == PackagePath::Type::directory ? S_ISDIR(info.st_mode)
                                                            : S_ISREG(info.st_mode);
  if (!right) return damaged(path, "is not of the type that its package says");
  return facts_of(path, info);
}

}  // namespace

Result<CondaSource> load_conda_source(LockedPackage locked, const std::string& directory) {
  auto info = read_package(directory);
  if (!info) return tl::unexpected(info.error());
  CondaSource source{std::move(locked), std::move(*info), directory, {}};
  source.facts.reserve(source.info.paths.size());
  for (const PackagePath& path : source.info.paths) {
    // An empty directory need not be in the archive: paths.json is enough to make it.
    if (path.type == PackagePath::Type::directory) {
      source.facts.emplace_back();
      continue;
    }
    auto facts = inspect(directory + "/" + path.path, path.type);
    if (!facts) return tl::unexpected(facts.error());
    source.facts.push_back(std::move(*facts));
  }
  return source;
}

Result<WheelSource> load_wheel_source(LockedPackage locked, const std::string& directory) {
  auto info = read_wheel(directory);
  if (!info) return tl::unexpected(info.error());
  return WheelSource{std::move(locked), std::move(*info), directory};
}

}  // namespace pinstep
