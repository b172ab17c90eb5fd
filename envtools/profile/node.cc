#include "envtools/profile/node.h"

#include <gnu/libc-version.h>
#include <sys/utsname.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <set>

#include "envtools/base/text.h"
#include "envtools/spec/version_range.h"

namespace pinstep {
namespace {

// What each level adds to the one below, in the words of /proc/cpuinfo: x86-64 psABI, "Micro-architecture
// levels". lzcnt is called abm there; osxsave is no word of its own.
constexpr std::array<std::string_view, 7> kSecond{"cx16",   "lahf_lm", "pni",  "popcnt",
                                                  "sse4_1", "sse4_2",  "ssse3"};
constexpr std::array<std::string_view, 9> kThird{"avx", "avx2", "bmi1",  "bmi2", "f16c",
                                                 "fma", "abm",  "movbe", "xsave"};
constexpr std::array<std::string_view, 5> kFourth{"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"};

std::set<std::string_view> flags_of(std::string_view cpu) {
  for (const std::string_view line : split(cpu, '\n')) {
    const auto halves = split_once(line, ':');
    if (!halves || trim(halves->before) != "flags") continue;
    const auto words = split(trim(halves->after), ' ');
    return {words.begin(), words.end()};
  }
  return {};
}

// The beginning of a release that is a version: "5.14.0" of "5.14.0-503.el9.x86_64".
std::string_view kernel_version(std::string_view release) {
  const std::size_t end = std::min(release.find_first_not_of("0123456789."), release.size());
  while (release.substr(0, end).ends_with('.')) release.remove_suffix(release.size() - end + 1);
  return release.substr(0, end);
}

std::string platform_of(std::string_view machine) {
  return "linux-" + std::string(machine == "x86_64" ? "64" : machine);
}

std::string read_whole(const char* path) {
  std::ifstream file(path);
  return {std::istreambuf_iterator<char>(file), {}};
}

// ---- judging

// "x86_64_v3" → 3, "x86_64" → 1; 0 for names of other kinds.
int level_of(std::string_view architecture) {
  if (architecture == "x86_64") return 1;
  if (!architecture.starts_with("x86_64_v")) return 0;
  return parse_number<int>(architecture.substr(8)).value_or(0);
}

// What follows the name in a package's dependency: ">=12", "1 x86_64_v3".
struct Wanted {
  std::string_view range, build;
};
Wanted wanted_of(std::string_view constraint) {
  const auto halves = split_once(trim(constraint), ' ');
  if (!halves || halves->before.find_first_of("<>=!~,|") != std::string_view::npos) return {constraint, {}};
  return {halves->before, trim(halves->after)};
}

bool meets(const VirtualPackage& there, std::string_view constraint) {
  const Wanted wanted = wanted_of(constraint);
  if (!version_fits(wanted.range, there.version)) return false;
  const int level = level_of(wanted.build);
  return level == 0 || level_of(there.build) >= level;
}

const VirtualPackage* find(const VirtualPackages& packages, std::string_view name) {
  const auto found = std::find_if(packages.begin(), packages.end(),
                                  [&](const VirtualPackage& package) { return package.name == name; });
  return found == packages.end() ? nullptr : &*found;
}

std::string shown(const VirtualPackage& package) {
  return package.name == "__archspec" ? package.build : package.version;
}

}  // namespace

Result<NodeFacts> read_node(const std::string& management_library) {
  struct utsname host {};
  ::uname(&host);
  NodeFacts node{
      host.nodename, host.machine, host.release, ::gnu_get_libc_version(), read_whole("/proc/cpuinfo"), {}};
  auto driver = read_cuda_driver(management_library);
  if (driver)
    node.driver = std::move(*driver);
  else if (driver.error().kind != ErrorKind::not_found)
    return tl::unexpected(driver.error());
  return node;
}

std::string microarchitecture(std::string_view machine, std::string_view cpu) {
  if (machine != "x86_64") return std::string(machine);
  const auto flags = flags_of(cpu);
  const auto all = [&](const auto& words) {
    return std::all_of(words.begin(), words.end(), [&](std::string_view word) { return flags.contains(word); });
  };
  if (!all(kSecond)) return "x86_64";
  if (!all(kThird)) return "x86_64_v2";
  return all(kFourth) ? "x86_64_v4" : "x86_64_v3";
}

Profile profile_of(const NodeFacts& node) {
  VirtualPackages packages{{"__archspec", "1", microarchitecture(node.machine, node.cpu)},
                           {"__glibc", node.glibc, ""},
                           {"__linux", std::string(kernel_version(node.kernel)), ""},
                           {"__unix", "0", ""}};
  if (node.driver) {
    packages.push_back({"__cuda", node.driver->cuda, ""});
    if (!node.driver->capability.empty()) packages.push_back({"__cuda_arch", node.driver->capability, ""});
  }
  Profile profile;
  profile.platforms[platform_of(node.machine)] = overlay({}, packages);
  return profile;
}

std::vector<std::string> shortcomings(const std::vector<LockedPackage>& packages, const VirtualPackages& node) {
  std::vector<std::string> clauses;
  std::set<std::string_view> told;
  for (const LockedPackage& package : packages) {
    for (const auto& [name, constraint] : package.dependencies) {
      if (!name.starts_with("__") || told.contains(name)) continue;
      const VirtualPackage* there = find(node, name);
      if (there != nullptr && meets(*there, constraint)) continue;
      told.insert(name);
      clauses.push_back(package.name + " needs " + name + (constraint.empty() ? "" : " " + constraint) +
                        ", and there is " + (there == nullptr ? "none" : shown(*there)));
    }
  }
  return clauses;
}

}  // namespace pinstep
