#include "envtools/lock/lock.h"

#include <algorithm>
#include <tuple>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/hash/hash.h"
#include "envtools/lock/reader.h"
#include "envtools/yaml/yaml.h"

namespace pinstep {
namespace {

// The keys that begin in the first column, without reading the file as YAML: a lock may be large.
std::vector<std::string_view> top_level_keys(std::string_view text) {
  std::vector<std::string_view> keys;
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty() || std::string_view(" \t#-").find(line.front()) != std::string_view::npos) continue;
    const auto halves = split_once(line, ':');
    if (!halves) continue;
    std::string_view key = trim(halves->before);
    if (key.size() > 1 && (key.front() == '"' || key.front() == '\'')) key = key.substr(1, key.size() - 2);
    keys.push_back(key);
  }
  return keys;
}

bool has(const std::vector<std::string_view>& keys, std::string_view key) {
  return std::find(keys.begin(), keys.end(), key) != keys.end();
}

bool are_of_pixi(const std::vector<std::string_view>& keys) {
  return has(keys, "environments") || has(keys, "packages");
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

}  // namespace

bool is_explicit(std::string_view text) {
  const auto lines = split(text, '\n');
  return std::any_of(lines.begin(), lines.end(),
                     [](std::string_view line) { return trim(line) == "@EXPLICIT"; });
}

// ---- places of archives

std::string_view channel_url_of(std::string_view url) {
  for (int part = 0; part < 2; ++part) {
    const std::size_t slash = url.rfind('/');
    if (slash == std::string_view::npos || url.substr(0, slash).ends_with(":/")) return {};
    url = url.substr(0, slash);
  }
  return url;
}

std::string_view subdir_of(std::string_view url) {
  const std::string_view channel = channel_url_of(url);
  if (channel.empty()) return {};
  url.remove_prefix(channel.size() + 1);
  const std::string_view subdir = url.substr(0, url.find('/'));
  return subdir == "noarch" || subdir.find('-') != std::string_view::npos ? subdir : std::string_view();
}

// ---- reading

FileKind file_kind(std::string_view text) {
  const auto decoded = decode_text(text, "");
  if (!decoded) return FileKind::unknown;
  if (is_explicit(*decoded)) return FileKind::lock;
  const auto keys = top_level_keys(*decoded);
  if (has(keys, "package") || are_of_pixi(keys) || (has(keys, "version") && has(keys, "metadata")))
    return FileKind::lock;
  if (has(keys, "version") && !has(keys, "dependencies")) return FileKind::lock;  // of a kind to be refused
  return has(keys, "dependencies") || has(keys, "channels") ? FileKind::spec : FileKind::unknown;
}

bool has_environments(std::string_view text) {
  const auto decoded = decode_text(text, "");
  return decoded && !is_explicit(*decoded) && are_of_pixi(top_level_keys(*decoded));
}

Result<Lock> parse_lock(std::string_view text, const std::string& path, std::string_view part) {
  if (text.size() > kLockSizeLimit) return fail(ErrorKind::invalid, path + ": the lock is too long");
  const auto decoded = decode_text(text, path);
  if (!decoded) return tl::unexpected(decoded.error());
  const auto keys = top_level_keys(*decoded);
  const bool explicit_list = is_explicit(*decoded);
  if (!explicit_list && are_of_pixi(keys)) return parse_pixi(*decoded, path, part);
  if (!part.empty())
    return fail(ErrorKind::invalid, path + ": there is no '" + printable(part) + "' in this lock",
                "only a pixi.lock has several environments");
  if (explicit_list) return parse_explicit(*decoded, path);
  if (has(keys, "dependencies") && !has(keys, "package"))
    return fail(ErrorKind::invalid, path + ": this is an environment file, not a lock");
  auto lock = parse_conda_lock(*decoded, path);
  if (!lock && lock.error().kind == ErrorKind::invalid && lock.error().hint.empty())
    lock.error().hint =
        "an older version, such as git checkout brings back, or 'pinstep lock --update-all' mends it";
  return lock;
}

Result<Lock> load_lock(const std::string& path, std::string_view part) {
  const auto file = read_file(path, kLockSizeLimit, Links::followed);
  if (!file) return tl::unexpected(file.error());
  return parse_lock(file->text, path, part);
}

std::string lock_path_of(const std::string& spec_path) {
  const std::size_t name = spec_path.rfind('/') + 1;  // npos + 1 is 0
  const std::size_t dot = spec_path.rfind('.');
  const bool has_ending = dot != std::string::npos && dot > name;
  return spec_path.substr(0, has_ending ? dot : spec_path.size()) + "-lock.yml";
}

// ---- what is in it

Result<std::vector<LockedPackage>> Lock::packages_for(std::string_view platform,
                                                      const std::vector<std::string>& categories) const {
  if (std::find(platforms.begin(), platforms.end(), platform) == platforms.end())
    return fail(ErrorKind::invalid,
                "the lock is for " + joined(platforms) + ", not for " + std::string(platform));
  std::vector<LockedPackage> chosen;
  for (const LockedPackage& package : packages)
    if (package.platform == platform &&
        std::find(categories.begin(), categories.end(), package.category) != categories.end())
      chosen.push_back(package);
  const auto rank = [](const LockedPackage& p) { return std::tie(p.manager, p.name); };
  std::stable_sort(chosen.begin(), chosen.end(),
                   [&](const LockedPackage& a, const LockedPackage& b) { return rank(a) < rank(b); });
  const auto differs = [&](const LockedPackage& a, const LockedPackage& b) {
    return rank(a) == rank(b) && std::tie(a.version, a.build, a.sha256, a.md5, a.url) !=
                                     std::tie(b.version, b.build, b.sha256, b.md5, b.url);
  };
  if (const auto two = std::adjacent_find(chosen.begin(), chosen.end(), differs); two != chosen.end())
    return fail(ErrorKind::conflict,
                "the lock has '" + two->name + "' as " + two->url + " and as " + std::next(two)->url);
  chosen.erase(std::unique(chosen.begin(), chosen.end(),
                           [&](const LockedPackage& a, const LockedPackage& b) { return rank(a) == rank(b); }),
               chosen.end());
  return chosen;
}

// ---- identity

Result<std::string> identity_text(const Lock& lock, std::string_view platform, const BuildOptions& options) {
  const auto packages = lock.packages_for(platform);
  if (!packages) return tl::unexpected(packages.error());
  std::vector<std::string> lines;
  const auto word = [](std::string_view text) { return " " + (text.empty() ? "-" : percent_encode(text, "")); };
  for (const LockedPackage& package : *packages) {
    if (package.sha256.empty())
      return fail(ErrorKind::invalid, "the lock has no sha256 for '" + package.name + "'",
                  "'pinstep lock' makes locks that name every artifact by its sha256");
    const bool conda = package.manager == Manager::conda;
    lines.push_back((conda ? "conda" : "wheel") + word(package.name) + word(package.version) +
                    (conda ? word(package.build) : "") + " " + package.sha256);
  }
  for (const auto& [name, value] : lock.variables)
    lines.push_back("variable" + word(name) + " " + percent_encode(value, ""));
  std::sort(lines.begin(), lines.end());

  std::string text = "pinstep-environment 1\n";
  text += "layout " + std::to_string(kLayoutVersion) + "\n";
  text += "recorder " + std::to_string(kRecorderVersion) + "\n";
  text += std::string("compile ") + (options.compile ? "yes" : "no") + "\n";
  text += "link-scripts refuse\n";  // they are not run; in the text so that ids stay if ever they are
  text += "platform" + word(platform) + "\n";
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

Result<std::string> environment_id(const Lock& lock, std::string_view platform, const BuildOptions& options) {
  const auto text = identity_text(lock, platform, options);
  if (!text) return tl::unexpected(text.error());
  return sha256_hex(*text);
}

}  // namespace pinstep
