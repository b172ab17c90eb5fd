#include <algorithm>
#include <map>
#include <tuple>

#include "envtools/lock/keys.h"
#include "envtools/lock/reader.h"
#include "envtools/package/package.h"
#include "envtools/yaml/yaml.h"

namespace pinstep {
namespace {

constexpr std::string_view kHead =
    "# Made by pinstep; to be changed by pinstep only. Format: conda-lock.yml version 1 (CEP 37), so that\n"
    "# conda-lock and micromamba install it as well.\n";

class Writer {
 public:
  std::string write(const Lock& lock) {
    text_ = kHead;
    text_ += "version: 1\nmetadata:\n";
    write_map("  ", "content_hash", lock.content_hash);
    write_channels(lock);
    write_list("platforms", lock.platforms);
    write_list("sources", lock.sources);
    write_custom(lock);
    write_packages(lock);
    return std::move(text_);
  }

 private:
  void line(std::string_view indent, std::string_view key, std::string_view value) {
    text_ += std::string(indent) + yaml_scalar(key) + ": " + yaml_scalar(value) + "\n";
  }

  void write_map(const std::string& indent, std::string_view key,
                 const std::map<std::string, std::string>& map) {
    text_ += indent + std::string(key) + (map.empty() ? ": {}\n" : ":\n");
    for (const auto& [name, value] : map) line(indent + "  ", name, value);
  }

  void write_list(std::string_view key, const std::vector<std::string>& list) {
    text_ += "  " + std::string(key) + (list.empty() ? ": []\n" : ":\n");
    for (const std::string& item : list) text_ += "  - " + yaml_scalar(item) + "\n";
  }

  void write_channels(const Lock& lock) {
    text_ += lock.channels.empty() ? "  channels: []\n" : "  channels:\n";
    for (const LockedChannel& channel : lock.channels)
      text_ += "  - url: " + yaml_scalar(channel.name) + "\n    used_env_vars: []\n";
  }

  void write_custom(const Lock& lock) {
    std::map<std::string, std::string> custom = lock.custom;
    for (const LockedChannel& channel : lock.channels)
      if (channel.name != channel.url) custom[std::string(kChannelKey) + channel.name] = channel.url;
    for (const auto& [name, value] : lock.variables) custom[std::string(kVariableKey) + name] = value;
    std::map<std::string, std::uint64_t> sizes;
    for (const LockedPackage& package : lock.packages)
      if (package.size > 0 && !size_key(package).empty()) sizes[size_key(package)] = package.size;
    if (custom.empty() && sizes.empty()) return;
    text_ += "  custom_metadata:\n";
    for (const auto& [key, value] : custom) line("    ", key, value);
    if (sizes.empty()) return;
    text_ += "    " + std::string(kSizesKey) + ": |-\n";
    for (const auto& [digits, size] : sizes) text_ += "      " + digits + " " + std::to_string(size) + "\n";
  }

  void write_packages(const Lock& lock) {
    std::vector<const LockedPackage*> packages;
    for (const LockedPackage& package : lock.packages) packages.push_back(&package);
    const auto rank = [](const LockedPackage* p) {
      return std::tie(p->manager, p->name, p->platform, p->category);
    };
    std::stable_sort(packages.begin(), packages.end(),
                     [&](const LockedPackage* a, const LockedPackage* b) { return rank(a) < rank(b); });
    text_ += packages.empty() ? "package: []\n" : "package:\n";
    for (const LockedPackage* package : packages) write_package(*package);
  }

  void write_package(const LockedPackage& package) {
    text_ += "- name: " + yaml_scalar(package.name) + "\n";
    line("  ", "version", package.version);
    line("  ", "manager", package.manager == Manager::conda ? "conda" : "pip");
    line("  ", "platform", package.platform);
    write_map("  ", "dependencies", package.dependencies);
    line("  ", "url", package.url);
    const bool hashed = !package.md5.empty() || !package.sha256.empty();
    text_ += hashed ? "  hash:\n" : "  hash: {}\n";
    if (!package.md5.empty()) line("    ", "md5", package.md5);
    if (!package.sha256.empty()) line("    ", "sha256", package.sha256);
    const auto named = parse_archive_name(package.url);
    const std::string told = package.manager == Manager::conda && named ? named->build : "";
    if (package.build != told) line("  ", "build", package.build);
    line("  ", "category", package.category);
    text_ += std::string("  optional: ") + (package.optional ? "true" : "false") + "\n";
  }

  std::string text_;
};

}  // namespace

std::string write_lock(const Lock& lock) { return Writer().write(lock); }

}  // namespace pinstep
