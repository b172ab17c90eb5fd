#include "envtools/profile/profile.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "envtools/base/text.h"
#include "envtools/yaml/yaml.h"

namespace pinstep {
namespace {

constexpr std::array<std::string_view, 15> kPlatforms{
    "linux-64",  "linux-aarch64", "linux-ppc64le", "linux-s390x", "linux-riscv64",
    "linux-32",  "linux-armv6l",  "linux-armv7l",  "linux-ppc64", "osx-64",
    "osx-arm64", "win-64",        "win-32",        "win-arm64",   "linux-riscv32"};

bool is_word(std::string_view text, std::string_view punctuation) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [&](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || punctuation.find(c) != std::string_view::npos;
  });
}

// One virtual package a line, which is no YAML of ours.
bool is_list(std::string_view text) {
  for (std::string_view line : split(text, '\n')) {
    line = trim(line.substr(0, line.find('#')));
    if (!line.empty()) return line.starts_with("__");
  }
  return true;
}

Result<Profile> parse_lines(std::string_view text, const std::string& path) {
  Profile profile;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const auto package = parse_virtual_package(line);
    if (!package)
      return fail(package.error().kind, location(path, number) + package.error().cause, package.error().hint);
    for (const VirtualPackage& other : profile.everywhere)
      if (other.name == package->name)
        return fail(ErrorKind::invalid, location(path, number) + "'" + package->name + "' is there twice");
    profile.everywhere.push_back(*package);
  }
  return profile;
}

tl::unexpected<Error> odd(const std::string& path, int line, const std::string& cause) {
  return fail(ErrorKind::invalid, location(path, std::max(line, 1)) + cause,
              "a profile is subdirs: {linux-64: {packages: {__cuda: '12.4'}}}");
}

// "__cuda: '12.4'", "__archspec: 1 x86_64_v3".
Result<VirtualPackage> parse_entry(const YamlKey& key, const YamlNode& value, const std::string& path) {
  const std::string quoted = "'" + printable(key.text) + "'";
  if (!value.is_scalar()) return odd(path, key.line, quoted + " has no version");
  std::string text = key.text + "=" + std::string(trim(value.text));
  std::replace(text.begin(), text.end(), ' ', '=');
  auto package = parse_virtual_package(text);
  if (!package) return odd(path, key.line, quoted + ": '" + printable(value.text) + "' is no virtual package");
  return package;
}

Result<VirtualPackages> parse_platform(const YamlNode& node, const std::string& name, const std::string& path) {
  const YamlNode* packages = node.find("packages");
  if (packages == nullptr) return odd(path, node.line, "'" + printable(name) + "' has no packages");
  VirtualPackages result;
  if (packages->is_null()) return result;
  if (!packages->is_map())
    return odd(path, packages->line, "'packages' is not made of lines '__NAME: version'");
  for (std::size_t i = 0; i < packages->items.size(); ++i) {
    auto package = parse_entry(packages->keys[i], packages->items[i], path);
    if (!package) return tl::unexpected(package.error());
    result.push_back(std::move(*package));
  }
  return overlay({}, result);
}

Result<Profile> parse_subdirs(const YamlNode& root, const std::string& path) {
  const YamlNode* subdirs = root.find("subdirs");
  if (subdirs == nullptr || !subdirs->is_map() || subdirs->items.empty())
    return odd(path, root.line, "this is no profile: it has no platforms below 'subdirs'");
  Profile profile;
  for (std::size_t i = 0; i < subdirs->items.size(); ++i) {
    const std::string& name = subdirs->keys[i].text;
    if (const auto known = check_platform(name); !known)
      return fail(known.error().kind, location(path, subdirs->keys[i].line) + known.error().cause,
                  known.error().hint);
    auto packages = parse_platform(subdirs->items[i], name, path);
    if (!packages) return tl::unexpected(packages.error());
    profile.platforms.emplace(name, std::move(*packages));
  }
  return profile;
}

}  // namespace

Result<VirtualPackage> parse_virtual_package(std::string_view text) {
  const auto parts = split(text, '=');
  const bool fits = parts.size() <= 3 && parts[0].starts_with("__") && is_word(parts[0], "_-.") &&
                    parts.size() > 1 && is_word(parts[1], "._+!-") &&
                    (parts.size() < 3 || is_word(parts[2], "._+-"));
  if (!fits)
    return fail(ErrorKind::invalid, "'" + std::string(text) + "' is no virtual package",
                "write __NAME=VERSION or __NAME=VERSION=BUILD, such as __cuda=12.4");
  return VirtualPackage{std::string(parts[0]), std::string(parts[1]),
                        parts.size() == 3 ? std::string(parts[2]) : std::string()};
}

std::string to_string(const VirtualPackage& package) {
  return package.name + "=" + package.version + (package.build.empty() ? "" : "=" + package.build);
}

std::vector<VirtualPackage> baseline_profile(std::string_view platform) {
  if (!platform.starts_with("linux-")) return {};
  std::string_view machine = platform.substr(platform.find('-') + 1);
  if (machine == "64") machine = "x86_64";
  return {{"__archspec", "1", std::string(machine)},
          {"__glibc", "2.28", ""},
          {"__linux", "4.18", ""},
          {"__unix", "0", ""}};
}

VirtualPackages Profile::packages(std::string_view platform) const {
  const auto found = platforms.find(std::string(platform));
  return overlay(everywhere, found == platforms.end() ? VirtualPackages{} : found->second);
}

bool Profile::covers(std::string_view platform) const {
  return platforms.empty() || platforms.contains(std::string(platform));
}

Result<Profile> parse_profile(std::string_view text, const std::string& path) {
  if (is_list(text)) return parse_lines(text, path);
  const auto root = parse_yaml(text, path);
  if (!root) return tl::unexpected(root.error());
  return parse_subdirs(*root, path);
}

std::string write_profile(const Profile& profile, std::string_view comment) {
  std::string text;
  if (!comment.empty()) text += "# " + printable(comment) + "\n";
  text += "subdirs:\n";
  for (const auto& [platform, packages] : profile.platforms) {
    text += "  " + platform + ":\n    packages:" + (packages.empty() ? " {}" : "") + "\n";
    for (const VirtualPackage& package : packages)
      text += "      " + package.name + ": " +
              yaml_scalar(package.version + (package.build.empty() ? "" : " " + package.build)) + "\n";
  }
  return text;
}

std::vector<VirtualPackage> overlay(std::vector<VirtualPackage> base, const std::vector<VirtualPackage>& over) {
  for (const VirtualPackage& package : over) {
    std::erase_if(base, [&](const VirtualPackage& other) { return other.name == package.name; });
    base.push_back(package);
  }
  std::sort(base.begin(), base.end(),
            [](const VirtualPackage& a, const VirtualPackage& b) { return a.name < b.name; });
  return base;
}

std::string format_profile(const std::vector<VirtualPackage>& profile) {
  std::string text;
  for (const VirtualPackage& package : profile) text += (text.empty() ? "" : " ") + to_string(package);
  return text;
}

Result<void> check_platform(std::string_view platform) {
  std::string known;
  for (const std::string_view name : kPlatforms) {
    if (name == platform) return {};
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  return fail(ErrorKind::invalid, "'" + printable(platform) + "' is no platform of conda",
              "there are " + known);
}

std::string native_platform() {
  struct utsname host {};
  ::uname(&host);
  const std::string machine = host.machine;
  return "linux-" + (machine == "x86_64" ? "64" : machine);
}

}  // namespace pinstep
