#include "envtools/solver/profile.h"

#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "envtools/base/text.h"

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

Result<std::vector<VirtualPackage>> parse_profile(std::string_view text, const std::string& path) {
  std::vector<VirtualPackage> profile;
  int number = 0;
  for (std::string_view line : split(text, '\n')) {
    ++number;
    line = trim(line.substr(0, line.find('#')));
    if (line.empty()) continue;
    const std::string where = path + ":" + std::to_string(number) + ": ";
    const auto package = parse_virtual_package(line);
    if (!package) return fail(package.error().kind, where + package.error().cause, package.error().hint);
    for (const VirtualPackage& other : profile)
      if (other.name == package->name)
        return fail(ErrorKind::invalid, where + "'" + package->name + "' is there twice");
    profile.push_back(*package);
  }
  return profile;
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
