// pixi.lock, versions 6 and 7: one environment of it.
#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <optional>

#include "envtools/base/text.h"
#include "envtools/channel/channel.h"
#include "envtools/lock/keys.h"
#include "envtools/lock/names.h"
#include "envtools/lock/reader.h"
#include "envtools/package/package.h"
#include "envtools/yaml/yaml.h"

namespace pinstep {
namespace {

constexpr std::string_view kDefaultEnvironment = "default";

// What a list of packages says first of each: how it is found, and where.
constexpr std::array<std::string_view, 3> kSelectors{"conda", "pypi", "conda_source"};

struct Selector {
  std::string_view kind;
  const YamlNode* place = nullptr;
};

std::optional<Selector> selector_of(const YamlNode& item) {
  for (const std::string_view kind : kSelectors)
    if (const YamlNode* place = item.find(kind); place != nullptr && place->is_scalar())
      return Selector{kind, place};
  return std::nullopt;
}

std::string in_quotes(std::string_view text) { return "'" + printable(text) + "'"; }

std::string listed(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : ", ") + printable(name);
  return text;
}

class Reader {
 public:
  Reader(const std::string& path, std::string_view part) : path_(path) {
    lock_.origin = Lock::Origin::pixi;
    const std::size_t at = part.find('@');
    environment_ = part.substr(0, at);
    if (environment_.empty()) environment_ = kDefaultEnvironment;
    if (at != std::string_view::npos) platform_ = part.substr(at + 1);
  }

  Result<Lock> read(const YamlNode& root) {
    if (const auto done = read_platforms(root.find("platforms")); !done) return tl::unexpected(done.error());
    if (const auto done = read_records(root.find("packages")); !done) return tl::unexpected(done.error());
    const auto packages = packages_of_environment(root);
    if (!packages) return tl::unexpected(packages.error());
    for (std::size_t i = 0; i < (*packages)->items.size(); ++i)
      if (const auto done = read_platform((*packages)->keys[i], (*packages)->items[i]); !done)
        return tl::unexpected(done.error());
    if (lock_.platforms.empty()) return fail_at((*packages)->line, no_platform());
    return std::move(lock_);
  }

 private:
  struct Platform {
    std::string subdir;
    std::string virtual_packages;
  };

  tl::unexpected<Error> fail_at(int line, std::string_view cause, std::string hint = {}) const {
    return fail(ErrorKind::invalid, location(path_, line) + std::string(cause), std::move(hint));
  }

  // ---- platforms: since version 7 with names of their own

  Result<void> read_platforms(const YamlNode* node) {
    if (node == nullptr) return {};
    if (!node->is_sequence()) return fail_at(node->line, "'platforms' is not a list");
    has_table_ = true;
    for (const YamlNode& item : node->items) {
      const std::string name = text_at(item, "name");
      if (name.empty()) return fail_at(item.line, "a platform has no 'name'");
      const std::string subdir = text_at(item, "subdir");
      Platform platform{subdir.empty() ? name : subdir, virtual_packages(item.find("virtual-packages"))};
      if (!platforms_.emplace(name, std::move(platform)).second)
        return fail_at(item.line, "the platform " + in_quotes(name) + " is there twice");
    }
    return {};
  }

  // "__cuda=12 __glibc=2.28", as a lock of ours has it.
  static std::string virtual_packages(const YamlNode* node) {
    std::string text;
    if (node == nullptr || !node->is_sequence()) return text;
    for (const YamlNode& item : node->items)
      if (item.is_scalar() && item.text.starts_with("__") &&
          item.text.find_first_of(" <>!~") == std::string::npos)
        text += (text.empty() ? "" : " ") + item.text;
    return text;
  }

  std::string subdir_of_platform(const std::string& name) const {
    const auto found = platforms_.find(name);
    return found != platforms_.end() ? found->second.subdir : name;
  }

  std::string no_platform() const {
    return platform_.empty()
               ? "the environment " + in_quotes(environment_) + " has no platform"
               : "the environment " + in_quotes(environment_) + " has no platform " + in_quotes(platform_);
  }

  // ---- records: what the file says of each package once

  Result<void> read_records(const YamlNode* node) {
    if (node == nullptr || node->is_null()) return {};
    if (!node->is_sequence()) return fail_at(node->line, "'packages' is not a list");
    for (const YamlNode& item : node->items) {
      const auto selector = selector_of(item);
      if (!selector) return fail_at(item.line, "a package is none of conda's nor of an index of Python's");
      records_.emplace(std::pair(selector->kind, std::string_view(selector->place->text)), &item);
    }
    return {};
  }

  // ---- the environment

  Result<const YamlNode*> packages_of_environment(const YamlNode& root) {
    const YamlNode* environments = root.find("environments");
    if (environments == nullptr || !environments->is_map())
      return fail_at(environments ? environments->line : std::max(root.line, 1),
                     "the lock has no 'environments'");
    if (const auto known = check_platform_names(*environments); !known) return tl::unexpected(known.error());
    const YamlNode* environment = environments->find(environment_);
    if (environment == nullptr) {
      std::vector<std::string> names;
      for (const YamlKey& key : environments->keys) names.push_back(key.text);
      return fail_at(environments->line, "there is no environment " + in_quotes(environment_),
                     names.empty() ? "'pixi lock' makes it anew"
                                   : "there are " + listed(names) + "; FILE:NAME names one of them");
    }
    if (const auto done = read_channels(environment->find("channels")); !done)
      return tl::unexpected(done.error());
    const YamlNode* packages = environment->find("packages");
    if (packages == nullptr || !packages->is_map())
      return fail_at(environment->line, "the environment " + in_quotes(environment_) + " has no packages");
    return packages;
  }

  Result<void> check_platform_names(const YamlNode& environments) const {
    for (std::size_t i = 0; has_table_ && i < environments.items.size(); ++i) {
      const YamlNode* packages = environments.items[i].find("packages");
      if (packages == nullptr) continue;
      for (const YamlKey& key : packages->keys)
        if (!platforms_.contains(key.text))
          return fail_at(key.line, "the environment " + in_quotes(environments.keys[i].text) + " is for " +
                                       in_quotes(key.text) + ", which 'platforms' does not have");
    }
    return {};
  }

  Result<void> read_channels(const YamlNode* node) {
    if (node == nullptr || !node->is_sequence()) return {};
    for (const YamlNode& item : node->items) {
      std::string url = without_credentials(item.is_map() ? text_at(item, "url") : item.text);
      if (url.empty()) return fail_at(item.line, "a channel has no 'url'");
      while (url.ends_with('/')) url.pop_back();
      if (url.find("://") == std::string::npos) url = file_url(url);
      lock_.channels.push_back({url, url});
    }
    return {};
  }

  // One platform of a kind: two that differ only in what their nodes offer are two environments.
  Result<void> read_platform(const YamlKey& key, const YamlNode& list) {
    const std::string subdir = subdir_of_platform(key.text);
    if (!platform_.empty() && key.text != platform_) return {};
    if (const auto there = names_.find(subdir); there != names_.end()) {
      if (there->second == subdir) return {};
      if (key.text != subdir)
        return fail_at(key.line,
                       "the environment has " + in_quotes(there->second) + " and " + in_quotes(key.text) +
                           ", both for " + subdir,
                       "FILE:" + printable(environment_) + "@" + printable(key.text) + " names one of them");
      std::erase_if(lock_.packages, [&](const LockedPackage& package) { return package.platform == subdir; });
    } else {
      lock_.platforms.push_back(subdir);
    }
    names_[subdir] = key.text;
    const auto platform = platforms_.find(key.text);
    const std::string profile = std::string(kProfileKey) + subdir;
    lock_.custom.erase(profile);
    if (platform != platforms_.end() && !platform->second.virtual_packages.empty())
      lock_.custom[profile] = platform->second.virtual_packages;
    if (!list.is_sequence() && !list.is_null())
      return fail_at(list.line, "the packages for " + in_quotes(key.text) + " are not a list");
    std::map<std::pair<Manager, std::string>, int> lines;
    for (const YamlNode& item : list.items)
      if (const auto done = read_package(item, subdir, lines); !done) return done;
    return {};
  }

  // ---- packages

  Result<void> read_package(const YamlNode& item, const std::string& subdir,
                            std::map<std::pair<Manager, std::string>, int>& lines) {
    const auto selector = selector_of(item);
    if (!selector) return fail_at(item.line, "a package is none of conda's nor of an index of Python's");
    const std::string& place = selector->place->text;
    const auto record = records_.find(std::pair(selector->kind, std::string_view(place)));
    if (record == records_.end())
      return fail_at(item.line,
                     in_quotes(without_credentials(place)) + " is not among the packages of the file");
    const bool conda = selector->kind != "pypi";
    if (!conda && text_at(*record->second, "editable") == "true") {
      lock_.notes.push_back(location(path_, item.line) + in_quotes(text_at(*record->second, "name")) +
                            " is code of yours in " + in_quotes(place) + ", which no environment has in it");
      return {};
    }
    const auto url = url_of(*selector, item.line);
    if (!url) return tl::unexpected(url.error());
    LockedPackage package;
    package.manager = conda ? Manager::conda : Manager::pip;
    package.platform = subdir;
    package.url = *url;
    if (const auto done = conda ? read_conda(package, *record->second) : read_pypi(package, *record->second);
        !done)
      return done;
    const auto [there, added] = lines.emplace(std::pair(package.manager, package.name), item.line);
    if (!added)
      return fail_at(item.line,
                     in_quotes(package.name) + " stands in line " + std::to_string(there->second) + " already");
    lock_.packages.push_back(std::move(package));
    return {};
  }

  // Of an archive. What has to be built first has no content to be pinned by.
  Result<std::string> url_of(const Selector& selector, int line) const {
    const std::string& place = selector.place->text;
    const bool conda = selector.kind == "conda";
    if (selector.kind == "conda_source" || (conda && !parse_archive_name(place)))
      return fail_at(
          line, in_quotes(without_credentials(place)) + " is the source of a package, which has to be built",
          "pinstep installs packages of channels: build it into one, or take it out of the environment");
    const std::string file = file_name_of(place);
    const bool archive = conda || file.ends_with(".whl") || file.ends_with(".tar.gz") || file.ends_with(".zip");
    if (place.starts_with("git+") || !archive)
      return fail_at(
          line, in_quotes(without_credentials(place)) + " is the source of a package, which has to be built",
          "pinstep installs wheels: build one, or make it editable, so that it is no part of the environment");
    if (place.find("://") != std::string::npos) return without_credentials(place);
    return file_url(place);
  }

  // Relative places begin at the lock's directory.
  std::string file_url(const std::string& place) const {
    const std::filesystem::path directory = std::filesystem::path(path_).parent_path();
    return "file://" + percent_encode((directory / place).lexically_normal().string(), "#?");
  }

  // Name, version and build are there where the file's name does not tell them.
  Result<void> read_conda(LockedPackage& package, const YamlNode& record) const {
    const auto named = parse_archive_name(package.url);
    if (!named) return fail_at(record.line, named.error().cause, named.error().hint);
    const auto told = [&](std::string_view key, const std::string& otherwise) {
      std::string text = text_at(record, key);
      return text.empty() ? otherwise : text;
    };
    package.name = told("name", named->name);
    package.version = told("version", named->version);
    package.build = told("build", named->build);
    add_all(package.dependencies, record.find("depends"));
    return read_common(package, record);
  }

  Result<void> read_pypi(LockedPackage& package, const YamlNode& record) const {
    package.name = normalized_name(text_at(record, "name"));
    package.version = text_at(record, "version");
    // A wheel's name tells its version, and pixi leaves it out where the package's own metadata would.
    const std::string file = file_name_of(package.url);
    if (const auto parts = split(file, '-');
        package.version.empty() && file.ends_with(".whl") && parts.size() >= 5)
      package.version = parts[1];
    if (const YamlNode* needs = record.find("requires_dist"); needs != nullptr && needs->is_sequence())
      for (const YamlNode& need : needs->items)
        if (need.is_scalar() && need.text.find(';') == std::string::npos)
          add_dependency(package.dependencies, need.text);
    return read_common(package, record);
  }

  static void add_all(std::map<std::string, std::string>& dependencies, const YamlNode* node) {
    if (node == nullptr || !node->is_sequence()) return;
    for (const YamlNode& item : node->items)
      if (item.is_scalar() && !trim(item.text).empty()) add_dependency(dependencies, item.text);
  }

  Result<void> read_common(LockedPackage& package, const YamlNode& record) const {
    if (!is_path_component(package.name) || !is_path_component(package.version) ||
        (!package.build.empty() && !is_path_component(package.build)))
      return fail_at(record.line, in_quotes(package.name) + " with version " + in_quotes(package.version) +
                                      " is not a package");
    package.sha256 = text_at(record, "sha256");
    package.md5 = text_at(record, "md5");
    package.size = parse_number<std::uint64_t>(text_at(record, "size")).value_or(0);
    if ((!package.sha256.empty() && !is_hex(package.sha256, 64)) ||
        (!package.md5.empty() && !is_hex(package.md5, 32)))
      return fail_at(record.line, "the hash of " + in_quotes(package.name) + " is not made of hex digits");
    if (package.sha256.empty() && package.md5.empty())
      return fail_at(record.line,
                     in_quotes(package.name) + " has no hash, so what is fetched cannot be checked");
    return {};
  }

  const std::string& path_;
  std::string environment_, platform_;  // asked for
  Lock lock_;
  bool has_table_ = false;
  std::map<std::string, Platform> platforms_;
  std::map<std::string, std::string> names_;  // subdir → the platform it was read from
  std::map<std::pair<std::string_view, std::string_view>, const YamlNode*> records_;
};

}  // namespace

Result<Lock> parse_pixi(std::string_view text, const std::string& path, std::string_view part) {
  const auto root = parse_yaml(text, path);
  if (!root) return tl::unexpected(root.error());
  const YamlNode* version = root->find("version");
  if (version == nullptr || !version->is_scalar())
    return fail(ErrorKind::invalid, location(path, std::max(root->line, 1)) + "the lock has no 'version'");
  if (version->text == "6" || version->text == "7") return Reader(path, part).read(*root);
  const auto number = parse_number<std::uint32_t>(version->text);
  return fail(ErrorKind::unsupported,
              location(path, version->line) + "a pixi.lock of version '" + printable(version->text) + "'",
              number && *number < 6 ? "'pixi lock' of a newer pixi writes version 6 or 7, which are read"
                                    : "pinstep reads versions 6 and 7");
}

}  // namespace pinstep
