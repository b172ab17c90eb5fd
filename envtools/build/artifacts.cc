#include "envtools/build/artifacts.h"

#include <sys/stat.h>
#include <sys/statvfs.h>

#include <algorithm>

#include "envtools/base/text.h"
#include "envtools/package/package.h"

namespace pinstep {
namespace {

constexpr std::uint64_t kUnpackedAtLeast = 2;  // times the size of the archive

bool exists(const std::string& path) {
  struct stat info {};
  return ::lstat(path.c_str(), &info) == 0;
}

// Where an artifact's channel is here, and at last where the lock's maker found it.
std::vector<std::string> urls_of(const LockedPackage& package, const ChannelUrls& channel_urls) {
  const ChannelUrls::value_type* longest = nullptr;
  for (const auto& channel : channel_urls)
    if (package.url.starts_with(channel.first + "/") &&
        (longest == nullptr || channel.first.size() > longest->first.size()))
      longest = &channel;
  std::vector<std::string> urls;
  if (longest != nullptr)
    for (const std::string& base : longest->second)
      urls.push_back(base + package.url.substr(longest->first.size()));
  if (std::find(urls.begin(), urls.end(), package.url) == urls.end()) urls.push_back(package.url);
  return urls;
}

std::string file_name(const std::string& url) {
  const std::string path = url.substr(0, url.find_first_of("?#"));
  return percent_decode(path.substr(path.rfind('/') + 1)).value_or("");
}

Result<void> place_wheel(Artifact& artifact, const Store& store, const std::string& tag) {
  const std::string file = file_name(artifact.package.url);
  constexpr std::string_view kEnding = ".whl";
  if (!file.ends_with(kEnding) || file.find('/') != std::string::npos || file.front() == '.')
    return fail(ErrorKind::invalid,
                "'" + artifact.package.name + "' is locked as '" + printable(file) +
                    "', and only wheels can be installed",
                "choose a version of it that has a wheel, or its conda package");
  artifact.stem = file.substr(0, file.size() - kEnding.size());
  artifact.archive = store.archives() + "/" + tag + "-" + file;
  artifact.directory = store.wheels() + "/" + artifact.stem + "-" + tag;
  return {};
}

Result<void> place_package(Artifact& artifact, const Store& store, const std::string& tag) {
  const auto name = parse_archive_name(artifact.package.url);
  if (!name) return tl::unexpected(name.error());
  artifact.stem = name->stem;
  artifact.archive = store.archives() + "/" + tag + "-" + name->stem + name->extension;
  artifact.directory = store.packages() + "/" + name->stem + "-" + tag;
  return {};
}

}  // namespace

Result<std::vector<Artifact>> artifacts(const std::vector<LockedPackage>& packages,
                                        const ChannelUrls& channel_urls, const Store& store) {
  std::vector<Artifact> all;
  for (const LockedPackage& package : packages) {
    if (!is_hex(package.sha256, 64))
      return fail(ErrorKind::invalid, "'" + package.name + "' has no sha256 in the lock");
    Artifact artifact;
    artifact.package = package;
    artifact.urls = urls_of(package, channel_urls);
    const std::string tag = package.sha256.substr(0, 16);
    const auto placed = package.manager == Manager::pip ? place_wheel(artifact, store, tag)
                                                        : place_package(artifact, store, tag);
    if (!placed) return tl::unexpected(placed.error());
    all.push_back(std::move(artifact));
  }
  return all;
}

Cached cached_of(const Artifact& artifact) {
  if (exists(artifact.directory)) return Cached::directory;
  return exists(artifact.archive) ? Cached::archive : Cached::nothing;
}

Needs needs_of(const std::vector<Artifact>& artifacts) {
  Needs needs;
  for (const Artifact& artifact : artifacts) {
    const Cached cached = cached_of(artifact);
    if (cached == Cached::directory) continue;
    needs.unpack_bytes += kUnpackedAtLeast * artifact.package.size;
    if (cached == Cached::archive) continue;
    ++needs.archives;
    needs.fetch_bytes += artifact.package.size;
  }
  return needs;
}

Result<void> check_space(const std::string& directory, std::uint64_t bytes, std::uint64_t files) {
  struct statvfs space {};
  if (::statvfs(directory.c_str(), &space) != 0) return fail_errno(errno, "inspect", directory);
  const std::uint64_t free_bytes = static_cast<std::uint64_t>(space.f_bavail) * space.f_frsize;
  constexpr const char* kHint = "PINSTEP_STORE, or the setting 'store', names another place for environments";
  if (bytes > free_bytes)
    return fail(ErrorKind::no_space,
                "the environment needs at least " + format_size(bytes) + " in '" + directory + "', where " +
                    format_size(free_bytes) + " are free",
                kHint);
  // File systems that make inodes as they are needed say 0.
  if (space.f_files != 0 && files > space.f_favail)
    return fail(ErrorKind::no_space,
                "the environment needs " + std::to_string(files) + " files in '" + directory + "', where " +
                    std::to_string(space.f_favail) + " can be made",
                kHint);
  return {};
}

}  // namespace pinstep
