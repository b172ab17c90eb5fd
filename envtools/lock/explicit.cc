#include <algorithm>
#include <filesystem>

#include "envtools/base/text.h"
#include "envtools/channel/channel.h"
#include "envtools/hash/hash.h"
#include "envtools/lock/reader.h"
#include "envtools/package/package.h"
#include "envtools/yaml/yaml.h"

namespace pinstep {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) { lock_.origin = Lock::Origin::explicit_list; }

  Result<Lock> read(std::string_view text) {
    int number = 0;
    for (const std::string_view raw : split(text, '\n')) {
      ++number;
      const std::string_view line = trim(raw);
      if (line.empty() || line == "@EXPLICIT") continue;
      if (line.starts_with('#')) {
        read_comment(line);
        continue;
      }
      if (const auto done = read_package(number, line); !done) return tl::unexpected(done.error());
    }
    return finish();
  }

 private:
  tl::unexpected<Error> fail_at(int line, std::string_view cause, std::string hint = {}) const {
    return fail(ErrorKind::invalid, location(path_, line) + std::string(cause), std::move(hint));
  }

  void read_comment(std::string_view line) {
    constexpr std::string_view key = "platform:";
    line = trim(line.substr(1));
    if (line.starts_with(key) && platform_.empty()) platform_ = trim(line.substr(key.size()));
  }

  Result<void> read_package(int number, std::string_view line) {
    const auto halves = split_once(line, '#');
    const std::string_view where = trim(halves ? halves->before : line);
    const auto url = url_of(number, where);
    if (!url) return tl::unexpected(url.error());
    LockedPackage package;
    package.url = *url;
    const auto named = parse_archive_name(package.url);
    if (!named)
      return fail_at(number, "'" + printable(without_credentials(where)) + "' is not the place of a package",
                     "its file name is NAME-VERSION-BUILD.conda or .tar.bz2");
    package.name = named->name;
    package.version = named->version;
    package.build = named->build;
    if (halves && !take_hash(package, trim(halves->after)))
      return fail_at(number, "'#" + printable(trim(halves->after)) + "' is neither an md5 nor a sha256",
                     "they have 32 and 64 hex digits");
    const std::string_view subdir = subdir_of(package.url);
    if (platform_.empty() && !subdir.empty() && subdir != "noarch") platform_ = subdir;
    lock_.packages.push_back(std::move(package));
    return {};
  }

  // A path is taken from the file's directory: a job's working directory is another on each submission.
  Result<std::string> url_of(int number, std::string_view where) const {
    if (where.find("://") != std::string_view::npos) return without_credentials(where);
    if (where.starts_with('~') || where.find('$') != std::string_view::npos)
      return fail_at(number, "'" + printable(where) + "' is not expanded", "write the whole path");
    const std::filesystem::path directory = std::filesystem::path(path_).parent_path();
    const std::filesystem::path file = (directory / where).lexically_normal();
    if (!file.is_absolute()) return fail_at(number, "'" + printable(where) + "' is a relative path");
    return "file://" + percent_encode(file.string(), "#?");
  }

  static bool take_hash(LockedPackage& package, std::string_view text) {
    for (const std::string_view name : {"sha256:", "md5:"})
      if (text.starts_with(name)) text.remove_prefix(name.size());
    const std::string hash = to_lower(text);
    if (is_hex(hash, 64)) return package.sha256 = hash, true;
    if (is_hex(hash, 32)) return package.md5 = hash, true;
    return false;
  }

  Result<Lock> finish() {
    if (lock_.packages.empty()) return fail_at(1, "there is no package in the file");
    if (platform_.empty())
      return fail_at(1, "nothing says for which platform this is", "add a line '# platform: linux-64'");
    std::size_t without_hash = 0;
    for (LockedPackage& package : lock_.packages) {
      const std::string_view subdir = subdir_of(package.url);
      if (!subdir.empty() && subdir != "noarch" && subdir != platform_)
        return fail(ErrorKind::invalid, path_ + ": '" + package.name + "' is for " + std::string(subdir) +
                                            ", other packages are for " + platform_);
      package.platform = platform_;
      without_hash += package.sha256.empty() && package.md5.empty();
    }
    if (without_hash > 0)
      lock_.notes.push_back(path_ + ": " + std::to_string(without_hash) + " of " +
                            std::to_string(lock_.packages.size()) + " packages have no hash");
    lock_.platforms = {platform_};
    return std::move(lock_);
  }

  const std::string& path_;
  Lock lock_;
  std::string platform_;
};

}  // namespace

Result<Lock> parse_explicit(std::string_view text, const std::string& path) { return Reader(path).read(text); }

}  // namespace pinstep
