#include <dirent.h>
#include <fcntl.h>

#include <algorithm>

#include "envtools/base/fd.h"
#include "envtools/package/cache.h"
#include "envtools/package/metadata.h"
#include "envtools/package/names.h"
#include "envtools/package/package.h"

namespace pinstep {
namespace {

constexpr std::size_t kTextLimit = 256 << 20;  // paths.json of a large package has some tens of MiB

// A file under info/ that a package may lack.
Result<std::optional<std::string>> read_if_there(const std::string& path) {
  auto content = read_file(path, kTextLimit);
  if (content) return std::move(content->text);
  if (content.error().kind == ErrorKind::not_found) return std::nullopt;
  return tl::unexpected(content.error());
}

Result<std::string> read_or_empty(const std::string& path) {
  auto text = read_if_there(path);
  if (!text) return tl::unexpected(text.error());
  return std::move(*text).value_or("");
}

// What a list without types names, as it lies in the tree.
Result<void> add_type(const std::string& directory, PackagePath& path) {
  const std::string file = directory + "/" + path.path;
  struct stat info {};
  if (::lstat(file.c_str(), &info) != 0)
    return fail(ErrorKind::corrupt,
                "'" + directory + "' lacks '" + path.path + "', which its info/files lists");
  if (S_ISLNK(info.st_mode)) path.type = PackagePath::Type::symlink;
  if (S_ISDIR(info.st_mode)) path.type = PackagePath::Type::directory;
  if (S_ISREG(info.st_mode)) {
    path.size = static_cast<std::uint64_t>(info.st_size);
  } else {
    path.placeholder.clear();
    path.mode = PackagePath::Mode::none;
  }
  return {};
}

// Every file and link below `below` (a path ending with '/', or empty for all of the package but info/).
Result<void> list_tree(const std::string& directory, const std::string& below,
                       std::vector<PackagePath>& paths) {
  const std::string here = directory + "/" + below;
  DIR* const open = ::opendir(here.c_str());
  if (open == nullptr) return fail_errno(errno, "list", here);
  std::vector<std::string> names;
  while (const struct dirent* entry = ::readdir(open)) names.emplace_back(entry->d_name);
  ::closedir(open);
  for (const std::string& name : names) {
    if (name == "." || name == ".." || (below.empty() && (name == "info" || name == kUnpackedMarker))) continue;
    PackagePath path;
    path.path = below + name;
    if (const auto typed = add_type(directory, path); !typed) return typed;
    if (path.type != PackagePath::Type::directory) {
      paths.push_back(std::move(path));
    } else if (const auto listed = list_tree(directory, path.path + "/", paths); !listed) {
      return listed;
    }
  }
  return {};
}

// From paths.json, else from the lists before it, else from the tree itself.
Result<std::vector<PackagePath>> read_paths(const std::string& directory) {
  const std::string info = directory + "/info/";
  const auto json = read_if_there(info + "paths.json");
  if (!json) return tl::unexpected(json.error());
  if (*json) return parse_paths(**json, info + "paths.json");

  const auto files = read_if_there(info + "files");
  if (!files) return tl::unexpected(files.error());
  if (!*files) {
    std::vector<PackagePath> paths;
    if (const auto listed = list_tree(directory, "", paths); !listed) return tl::unexpected(listed.error());
    std::sort(paths.begin(), paths.end(),
              [](const PackagePath& a, const PackagePath& b) { return a.path < b.path; });
    return paths;
  }
  const auto has_prefix = read_or_empty(info + "has_prefix");
  const auto no_link = read_or_empty(info + "no_link");
  const auto no_softlink = read_or_empty(info + "no_softlink");
  for (const auto* text : {&has_prefix, &no_link, &no_softlink})
    if (!*text) return tl::unexpected(text->error());
  auto paths = parse_old_paths(**files, *has_prefix, *no_link + "\n" + *no_softlink, info + "files");
  if (!paths) return paths;
  for (PackagePath& path : *paths)
    if (const auto typed = add_type(directory, path); !typed) return tl::unexpected(typed.error());
  return paths;
}

Result<void> add_link_metadata(const std::string& directory, PackageInfo& info) {
  for (const char* name : {"/info/link.json", "/info/package_metadata.json"}) {
    const auto text = read_if_there(directory + name);
    if (!text) return tl::unexpected(text.error());
    if (*text) return add_link_json(info, **text, directory + name);
  }
  return {};
}

bool has_path(const PackageInfo& info, const std::string& path) {
  const auto at = std::lower_bound(info.paths.begin(), info.paths.end(), path,
                                   [](const PackagePath& a, const std::string& b) { return a.path < b; });
  return at != info.paths.end() && at->path == path;
}

// Files patched at link time must look newer than what was compiled from them when the package was built:
// about.json is written last, index.json says when the build began.
void add_build_time(const std::string& directory, PackageInfo& info) {
  for (const char* name : {"/info/about.json", "/info/index.json"}) {
    struct stat file {};
    if (::lstat((directory + name).c_str(), &file) != 0) continue;
    info.timestamp = std::max<std::int64_t>(info.timestamp, file.st_mtime);
    return;
  }
}

}  // namespace

Result<PackageInfo> read_package(const std::string& directory) {
  const std::string index = directory + "/info/index.json";
  const auto index_json = read_if_there(index);
  if (!index_json) return tl::unexpected(index_json.error());
  if (!*index_json)
    return fail(ErrorKind::corrupt, "'" + directory + "' is no conda package: it has no info/index.json");
  auto info = parse_index(**index_json, index);
  if (!info) return info;
  auto paths = read_paths(directory);
  if (!paths) return tl::unexpected(paths.error());
  info->paths = std::move(*paths);
  if (const auto added = add_link_metadata(directory, *info); !added) return tl::unexpected(added.error());
  for (const char* when : {"pre-link", "post-link", "pre-unlink"}) {
    const std::string script = "bin/." + info->name + "-" + when + ".sh";
    if (has_path(*info, script)) info->link_scripts.push_back(script);
  }
  add_build_time(directory, *info);
  return info;
}

}  // namespace pinstep
