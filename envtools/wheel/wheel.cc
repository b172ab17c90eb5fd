#include "envtools/wheel/wheel.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <memory>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/package/cache.h"
#include "envtools/package/names.h"
#include "envtools/package/unpack.h"

namespace pinstep {
namespace {

constexpr std::size_t kMetadataLimit = 64 << 20;  // bytes; torch's RECORD has 1.5 MB
constexpr std::string_view kDistInfo = ".dist-info";

Result<std::string> find_dist_info(const std::string& directory) {
  std::vector<std::string> found;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error))
    if (std::string name = entry.path().filename(); name.ends_with(kDistInfo)) found.push_back(std::move(name));
  if (error) return fail_errno(error.value(), "list", directory);
  if (found.size() != 1)
    return fail(ErrorKind::corrupt, "'" + directory + "' is no unpacked wheel: it has " +
                                        (found.empty() ? "no" : "more than one") + " .dist-info directory");
  return found.front();
}

Result<void> take_name(WheelInfo& info, const std::string& directory) {
  const std::string_view base =
      std::string_view(info.dist_info).substr(0, info.dist_info.size() - kDistInfo.size());
  const std::size_t dash = base.rfind('-');
  if (dash == base.npos || !is_safe_part(base.substr(0, dash)) || !is_safe_part(base.substr(dash + 1)))
    return fail(ErrorKind::refused, "'" + directory + "' holds '" + printable(info.dist_info) +
                                        "', which is not a name and a version");
  info.name = base.substr(0, dash);
  info.version = base.substr(dash + 1);
  info.data = std::string(base) + ".data";
  return {};
}

// "Wheel-Version: 1.0": a newer major version may mean anything.
Result<void> check_version(std::string_view text, const std::string& path) {
  for (const std::string_view line : split(text, '\n')) {
    const auto halves = split_once(line, ':');
    if (!halves || halves->before != "Wheel-Version") continue;
    const std::string_view version = trim(halves->after);
    if (version.substr(0, version.find('.')) == "1") return {};
    return fail(ErrorKind::unsupported, "'" + path + "' has wheel version " + printable(version) + ", not 1.x");
  }
  return fail(ErrorKind::corrupt, "'" + path + "' does not say which wheel version it follows");
}

bool is_record(std::string_view path, const WheelInfo& info) {
  const std::string record = info.dist_info + "/RECORD";
  return path == record || path == record + ".jws" || path == record + ".p7s";
}

Result<WheelFile> inspect(const std::string& directory, RecordLine line, const std::string& record) {
  if (!is_inner_path(line.path))
    return fail(ErrorKind::refused,
                "'" + record + "' lists '" + printable(line.path) + "', which leads out of the wheel");
  const std::string path = directory + "/" + line.path;
  struct stat file {};
  if (::lstat(path.c_str(), &file) != 0 || !S_ISREG(file.st_mode))
    return fail(ErrorKind::corrupt,
                "'" + record + "' lists '" + printable(line.path) + "', which is not there as a file");
  if (line.sha256.empty())
    return fail(ErrorKind::corrupt, "'" + record + "' has no sha256 for '" + printable(line.path) + "'");
  return WheelFile{std::move(line.path), std::move(line.sha256), line.size, (file.st_mode & S_IXUSR) != 0,
                   static_cast<std::int64_t>(file.st_mtime)};
}

Result<void> take_files(WheelInfo& info, const std::string& directory) {
  const std::string record = directory + "/" + info.dist_info + "/RECORD";
  const auto content = read_file(record, kMetadataLimit);
  if (!content) return tl::unexpected(content.error());
  auto lines = parse_record(content->text, record);
  if (!lines) return tl::unexpected(lines.error());
  for (RecordLine& line : *lines) {
    if (is_record(line.path, info) || line.path.ends_with('/')) continue;
    auto file = inspect(directory, std::move(line), record);
    if (!file) return tl::unexpected(file.error());
    info.files.push_back(std::move(*file));
  }
  std::sort(info.files.begin(), info.files.end(),
            [](const WheelFile& a, const WheelFile& b) { return a.path < b.path; });
  const auto twice =
      std::adjacent_find(info.files.begin(), info.files.end(),
                         [](const WheelFile& a, const WheelFile& b) { return a.path == b.path; });
  if (twice != info.files.end())
    return fail(ErrorKind::corrupt, "'" + record + "' lists '" + printable(twice->path) + "' twice");
  return {};
}

// Every file of the archive stands in RECORD with its digest, and the other way round.
Result<void> check(const WheelInfo& info, const ExtractedTree& tree, const std::string& archive) {
  std::size_t files = 0;
  for (const auto& [path, extracted] : tree) {
    if (extracted.type == Extracted::Type::symlink)
      return fail(ErrorKind::refused, "'" + archive + "' holds '" + printable(path) + "', a symbolic link");
    if (extracted.type == Extracted::Type::file && !is_record(path, info)) ++files;
  }
  for (const WheelFile& file : info.files) {
    const auto found = tree.find(file.path);
    if (found == tree.end() || found->second.sha256 != file.sha256)
      return fail(ErrorKind::corrupt,
                  "'" + archive + "' holds '" + printable(file.path) + "' with another sha256 than its RECORD",
                  "fetch the wheel anew or use another build of it");
  }
  if (files != info.files.size())
    return fail(ErrorKind::corrupt, "'" + archive + "' holds files that its RECORD does not list",
                "use another build of the wheel");
  return {};
}

Result<void> extract_wheel(const std::string& archive, const std::string& directory) {
  const UniqueFd fd(::open(archive.c_str(), O_RDONLY | O_CLOEXEC));
  if (!fd.valid()) return fail_errno(errno, "open", archive);
  auto tree = Tree::open(directory, archive);
  if (!tree) return tl::unexpected(tree.error());
  if (auto done = unpack_zip(fd.get(), archive, *tree); !done) return done;
  const auto info = read_wheel(directory);
  if (!info) return tl::unexpected(info.error());
  return check(*info, tree->extracted(), archive);
}

}  // namespace

Result<WheelInfo> read_wheel(const std::string& directory) {
  WheelInfo info;
  auto dist_info = find_dist_info(directory);
  if (!dist_info) return tl::unexpected(dist_info.error());
  info.dist_info = std::move(*dist_info);
  if (auto taken = take_name(info, directory); !taken) return tl::unexpected(taken.error());

  const std::string metadata = directory + "/" + info.dist_info + "/";
  const auto wheel = read_file(metadata + "WHEEL", kMetadataLimit);
  if (!wheel) return tl::unexpected(wheel.error());
  if (auto known = check_version(wheel->text, metadata + "WHEEL"); !known) return tl::unexpected(known.error());
  if (auto taken = take_files(info, directory); !taken) return tl::unexpected(taken.error());

  const auto has_entry_points = [&](const WheelFile& file) {
    return file.path == info.dist_info + "/entry_points.txt";
  };
  if (std::none_of(info.files.begin(), info.files.end(), has_entry_points)) return info;
  const auto text = read_file(metadata + "entry_points.txt", kMetadataLimit);
  if (!text) return tl::unexpected(text.error());
  auto entries = parse_entry_points(text->text, metadata + "entry_points.txt");
  if (!entries) return tl::unexpected(entries.error());
  info.entry_points = std::move(*entries);
  return info;
}

Result<std::string> extract_wheel_into_cache(const std::string& archive, const std::string& cache,
                                             const std::string& sha256) {
  std::string name = archive.substr(archive.rfind('/') + 1);
  if (name.ends_with(".whl")) name.resize(name.size() - 4);
  return cached(cache, name, sha256,
                [&](const std::string& directory) { return extract_wheel(archive, directory); });
}

}  // namespace pinstep
