#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "envtools/base/reserved.h"
#include "envtools/base/text.h"
#include "envtools/channel/channel.h"
#include "envtools/hash/hash.h"
#include "envtools/lock/keys.h"
#include "envtools/lock/names.h"
#include "envtools/lock/reader.h"
#include "envtools/package/package.h"
#include "envtools/yaml/yaml.h"

namespace pinstep {
namespace {

// "1f3a… 4096" lines of custom_metadata: what the digests' first digits belong to.
std::map<std::string, std::uint64_t, std::less<>> parse_sizes(std::string_view text) {
  std::map<std::string, std::uint64_t, std::less<>> sizes;
  for (const std::string_view line : split(text, '\n'))
    if (const auto halves = split_once(line, ' '))
      if (const auto size = parse_number<std::uint64_t>(halves->after)) sizes.emplace(halves->before, *size);
  return sizes;
}

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  Result<Lock> read(const YamlNode& root) {
    // Packages first: what is wrong with them says more than an absent section.
    const YamlNode* packages = root.find("package");
    const YamlNode* metadata = root.find("metadata");
    if (packages == nullptr || !(packages->is_sequence() || packages->is_null()))
      return fail_at(packages ? packages->line : root.line, "the lock has no list 'package'");
    for (const YamlNode& item : packages->items)
      if (const auto done = read_package(item); !done) return tl::unexpected(done.error());
    if (metadata == nullptr || !metadata->is_map())
      return fail_at(metadata ? metadata->line : root.line, "the lock has no section 'metadata'");
    if (const auto done = read_metadata(*metadata); !done) return tl::unexpected(done.error());
    if (const auto done = check_platforms(); !done) return tl::unexpected(done.error());
    name_channels();
    return std::move(lock_);
  }

 private:
  tl::unexpected<Error> fail_at(int line, std::string_view cause, std::string hint = {}) const {
    return fail(ErrorKind::invalid, location(path_, line) + std::string(cause), std::move(hint));
  }

  // ---- packages

  Result<void> read_package(const YamlNode& node) {
    if (!node.is_map()) return fail_at(node.line, "a package is not made of keys");
    if (const auto complete = check_required(node); !complete) return complete;
    LockedPackage package;
    package.name = node.find("name")->text;
    package.version = node.find("version")->text;
    package.platform = node.find("platform")->text;
    package.url = without_credentials(node.find("url")->text);
    const std::string quoted = "'" + printable(package.name) + "'";
    const std::string& manager = node.find("manager")->text;
    if (manager != "conda" && manager != "pip")
      return fail_at(node.find("manager")->line, quoted + " is managed by '" + printable(manager) + "'",
                     "pinstep installs packages of conda and pip");
    package.manager = manager == "conda" ? Manager::conda : Manager::pip;
    if (package.manager == Manager::pip) package.name = normalized_name(package.name);
    if (!is_path_component(package.name) || !is_path_component(package.version))
      return fail_at(node.line, quoted + " with version '" + printable(package.version) + "' is not a package");

    if (const YamlNode* category = node.find("category"); category != nullptr && category->is_scalar())
      package.category = category->text;
    if (const YamlNode* optional = node.find("optional"); optional != nullptr)
      package.optional = optional->text == "true" || optional->text == "True";
    if (const auto done = read_hash(package, *node.find("hash")); !done) return done;
    if (const auto done = read_dependencies(package, node.find("dependencies")); !done) return done;
    if (const auto done = read_build(package, node); !done) return done;

    const auto key = std::tuple(package.manager, package.name, package.platform, package.category);
    if (const auto [there, added] = lines_.emplace(key, node.line); !added)
      return fail_at(node.line, quoted + " stands in line " + std::to_string(there->second) + " already");
    lock_.packages.push_back(std::move(package));
    return {};
  }

  Result<void> check_required(const YamlNode& node) const {
    std::string missing;
    for (const std::string_view key : {"name", "version", "manager", "platform", "url"}) {
      const YamlNode* value = node.find(key);
      if (value == nullptr || !value->is_scalar())
        missing += (missing.empty() ? "'" : ", '") + std::string(key) + "'";
    }
    if (const YamlNode* hash = node.find("hash"); hash == nullptr || !hash->is_map())
      missing += missing.empty() ? "'hash'" : ", 'hash'";
    if (missing.empty()) return {};
    const YamlNode* name = node.find("name");
    const std::string which = name && name->is_scalar() ? "'" + printable(name->text) + "'" : "a package";
    return fail_at(node.line, which + " has no " + missing);
  }

  // Of a package from version control "sha256" is the commit, in locks by conda-lock.
  Result<void> read_hash(LockedPackage& package, const YamlNode& node) const {
    const auto digest = [&](std::string_view key, std::size_t digits, std::string& target) {
      const YamlNode* value = node.find(key);
      if (value == nullptr || value->is_null()) return true;
      if (value->is_scalar() && is_hex(value->text, 40) && package.url.starts_with("git+")) return true;
      if (!value->is_scalar() || !is_hex(value->text, digits)) return false;
      target = value->text;
      return true;
    };
    if (digest("sha256", 64, package.sha256) && digest("md5", 32, package.md5)) return {};
    return fail_at(node.line, "the hash of '" + printable(package.name) + "' is not made of hex digits");
  }

  Result<void> read_dependencies(LockedPackage& package, const YamlNode* node) const {
    if (node == nullptr || node->is_null()) return {};
    if (!node->is_map()) return fail_at(node->line, "'dependencies' is not made of lines 'name: constraint'");
    for (std::size_t i = 0; i < node->items.size(); ++i) {
      const YamlNode& value = node->items[i];
      if (!value.is_scalar() && !value.is_null())
        return fail_at(value.line, "the constraint of '" + printable(node->keys[i].text) + "' is not a text");
      package.dependencies.emplace(node->keys[i].text, value.text);
    }
    return {};
  }

  Result<void> read_build(LockedPackage& package, const YamlNode& node) const {
    const auto named = parse_archive_name(package.url);
    if (package.manager == Manager::conda && !named)
      return fail_at(node.find("url")->line, "'" + printable(package.url) + "' is not a conda package",
                     "its file name is NAME-VERSION-BUILD.conda or .tar.bz2");
    if (package.manager == Manager::conda) package.build = named->build;
    const YamlNode* build = node.find("build");
    if (build != nullptr && build->is_scalar()) package.build = build->text;
    if (!package.build.empty() && !is_path_component(package.build))
      return fail_at(node.line, "'" + printable(package.build) + "' is not a build string");
    return {};
  }

  // ---- metadata

  Result<void> read_metadata(const YamlNode& node) {
    if (const auto done = texts(node, "platforms", lock_.platforms); !done) return done;
    if (lock_.platforms.empty()) return fail_at(node.line, "the lock names no platform");
    if (const auto done = texts(node, "sources", lock_.sources); !done) return done;
    if (const auto done = text_map(node, "content_hash", lock_.content_hash); !done) return done;
    if (const auto done = read_channels(node.find("channels")); !done) return done;
    std::map<std::string, std::string> custom;
    if (const auto done = text_map(node, "custom_metadata", custom); !done) return done;
    if (const auto done = check_variables(node.find("custom_metadata")); !done) return done;
    read_custom(custom);
    return {};
  }

  // As of a spec: a lock may come from elsewhere.
  Result<void> check_variables(const YamlNode* custom) const {
    if (custom == nullptr) return {};
    for (const YamlKey& key : custom->keys) {
      if (!key.text.starts_with(kVariableKey)) continue;
      const std::string_view name = std::string_view(key.text).substr(kVariableKey.size());
      const std::string quoted = "'" + printable(name) + "'";
      if (!is_variable_name(name)) return fail_at(key.line, quoted + " is not the name of a variable");
      if (const auto because = reserved_because(name))
        return fail_at(key.line, quoted + " cannot be set here: " + std::string(*because));
    }
    return {};
  }

  Result<void> texts(const YamlNode& parent, std::string_view key, std::vector<std::string>& target) const {
    const YamlNode* node = parent.find(key);
    if (node == nullptr || node->is_null()) return {};
    if (!node->is_sequence()) return fail_at(node->line, "'" + std::string(key) + "' is not a list");
    for (const YamlNode& item : node->items) {
      if (!item.is_scalar()) return fail_at(item.line, "an item of '" + std::string(key) + "' is not a text");
      target.push_back(item.text);
    }
    return {};
  }

  Result<void> text_map(const YamlNode& parent, std::string_view key,
                        std::map<std::string, std::string>& target) const {
    const YamlNode* node = parent.find(key);
    if (node == nullptr || node->is_null()) return {};
    if (!node->is_map()) return fail_at(node->line, "'" + std::string(key) + "' is not made of keys");
    for (std::size_t i = 0; i < node->items.size(); ++i) {
      if (!node->items[i].is_scalar())
        return fail_at(node->items[i].line, "'" + printable(node->keys[i].text) + "' is not a text");
      target.emplace(node->keys[i].text, node->items[i].text);
    }
    return {};
  }

  Result<void> read_channels(const YamlNode* node) {
    if (node == nullptr || node->is_null()) return {};
    if (!node->is_sequence()) return fail_at(node->line, "'channels' is not a list");
    for (const YamlNode& item : node->items) {
      const YamlNode* url = item.is_map() ? item.find("url") : &item;
      if (url == nullptr || !url->is_scalar()) return fail_at(item.line, "a channel has no 'url'");
      std::string name = without_credentials(url->text);
      while (name.size() > 1 && name.ends_with('/')) name.pop_back();
      lock_.channels.push_back({std::move(name), ""});
    }
    return {};
  }

  void read_custom(const std::map<std::string, std::string>& custom) {
    for (const auto& [key, value] : custom) {
      if (key.starts_with(kVariableKey))
        lock_.variables.emplace(key.substr(kVariableKey.size()), value);
      else if (key.starts_with(kChannelKey))
        channel_urls_.emplace(key.substr(kChannelKey.size()), value);
      else if (key == kSizesKey)
        read_sizes(value);
      else
        lock_.custom.emplace(key, value);
    }
  }

  void read_sizes(std::string_view text) {
    const auto sizes = parse_sizes(text);
    for (LockedPackage& package : lock_.packages)
      if (const auto size = sizes.find(size_key(package)); size != sizes.end()) package.size = size->second;
  }

  Result<void> check_platforms() const {
    for (const LockedPackage& package : lock_.packages)
      if (std::find(lock_.platforms.begin(), lock_.platforms.end(), package.platform) == lock_.platforms.end())
        return fail(ErrorKind::invalid, path_ + ": '" + printable(package.name) + "' is for '" +
                                            printable(package.platform) + "', which 'platforms' does not have");
    return {};
  }

  // Where the lock does not say what a channel's URL was, the packages do.
  void name_channels() {
    std::set<std::string_view> urls;
    for (const LockedPackage& package : lock_.packages)
      if (package.manager == Manager::conda) urls.insert(channel_url_of(package.url));
    for (LockedChannel& channel : lock_.channels) {
      const auto said = channel_urls_.find(channel.name);
      if (said != channel_urls_.end()) {
        channel.url = said->second;
      } else if (channel.name.find("://") != std::string::npos) {
        channel.url = channel.name;
      } else {
        const auto ours = [&](std::string_view url) { return url.ends_with("/" + channel.name); };
        const auto found = std::find_if(urls.begin(), urls.end(), ours);
        if (found != urls.end()) channel.url = *found;
      }
    }
  }

  const std::string& path_;
  Lock lock_;
  std::map<std::tuple<Manager, std::string, std::string, std::string>, int> lines_;
  std::map<std::string, std::string, std::less<>> channel_urls_;
};

// The 1-based line of git's first mark; 0 if there is none.
int line_of_conflict(std::string_view text) {
  int number = 0;
  for (const std::string_view line : split(text, '\n')) {
    ++number;
    if (line.starts_with("<<<<<<< ")) return number;
  }
  return 0;
}

}  // namespace

Result<Lock> parse_conda_lock(std::string_view text, const std::string& path) {
  if (trim(text).empty()) return fail(ErrorKind::invalid, path + ": the lock is empty");
  if (const int line = line_of_conflict(text); line > 0)
    return fail(ErrorKind::invalid, location(path, line) + "a merge has left a conflict here");
  const auto root = parse_yaml(text, path);
  if (!root) return tl::unexpected(root.error());
  if (!root->is_map())
    return fail(ErrorKind::invalid, location(path, std::max(root->line, 1)) + "this is no lock");
  if (const YamlNode* version = root->find("version"); version != nullptr && version->text != "1")
    return fail(ErrorKind::unsupported,
                location(path, version->line) + "a lock of version '" + printable(version->text) + "'",
                "pinstep reads version 1 of conda-lock's format");
  return Reader(path).read(*root);
}

}  // namespace pinstep
