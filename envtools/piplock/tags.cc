#include "envtools/piplock/tags.h"

#include <algorithm>
#include <vector>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

constexpr unsigned kOldestGlibc = 5;  // 2.5, of manylinux1

// Names that were given before PEP 600: of 2.17, …
constexpr std::pair<unsigned, std::string_view> kOldNames[] = {
    {17, "manylinux2014"}, {12, "manylinux2010"}, {5, "manylinux1"}};

std::vector<std::string> platforms_of(unsigned glibc, const std::string& machine) {
  std::vector<std::string> platforms;
  for (unsigned minor = glibc; minor >= kOldestGlibc; --minor) {
    platforms.push_back("manylinux_2_" + std::to_string(minor) + "_" + machine);
    for (const auto& [of, name] : kOldNames)
      if (of == minor) platforms.push_back(std::string(name) + "_" + machine);
  }
  platforms.push_back("linux_" + machine);
  return platforms;
}

std::optional<unsigned> minor_of(std::string_view version, std::string_view major) {
  const auto parts = split(version, '.');
  if (parts.size() < 2 || parts[0] != major) return std::nullopt;
  const auto minor = parse_number<unsigned>(parts[1]);
  return minor && *minor < 1000 ? minor : std::nullopt;
}

}  // namespace

Result<WheelTags> WheelTags::of(const PythonTarget& target) {
  const auto python = minor_of(target.version, "3"), glibc = minor_of(target.glibc, "2");
  if (!python) return fail(ErrorKind::invalid, "'" + printable(target.version) + "' is no version of Python 3");
  if (!glibc) return fail(ErrorKind::invalid, "'" + printable(target.glibc) + "' is no version of glibc");
  const auto platforms = platforms_of(*glibc, target.machine);
  const std::string own = "cp3" + std::to_string(*python);
  WheelTags tags;
  const auto add = [&](const std::string& interpreter, const std::string& abi,
                       const std::vector<std::string>& on) {
    for (const std::string& platform : on)
      tags.ranks_.emplace(interpreter + "-" + abi + "-" + platform, tags.ranks_.size());
  };
  for (const char* abi : {"", "abi3", "none"}) add(own, *abi == '\0' ? own : abi, platforms);
  for (unsigned minor = *python; minor-- > 2;) add("cp3" + std::to_string(minor), "abi3", platforms);
  std::vector<std::string> generic{"py3" + std::to_string(*python), "py3"};
  for (unsigned minor = *python; minor-- > 0;) generic.push_back("py3" + std::to_string(minor));
  for (const std::string& interpreter : generic) add(interpreter, "none", platforms);
  add(own, "none", {"any"});
  for (const std::string& interpreter : generic) add(interpreter, "none", {"any"});
  return tags;
}

std::optional<std::size_t> WheelTags::rank(std::string_view file_name) const {
  constexpr std::string_view kEnding = ".whl";
  if (!file_name.ends_with(kEnding)) return std::nullopt;
  const auto parts = split(file_name.substr(0, file_name.size() - kEnding.size()), '-');
  if (parts.size() != 5 && parts.size() != 6) return std::nullopt;
  std::optional<std::size_t> best;
  for (const std::string_view interpreter : split(parts[parts.size() - 3], '.'))
    for (const std::string_view abi : split(parts[parts.size() - 2], '.'))
      for (const std::string_view platform : split(parts[parts.size() - 1], '.')) {
        const auto found =
            ranks_.find(std::string(interpreter) + "-" + std::string(abi) + "-" + std::string(platform));
        if (found != ranks_.end()) best = std::min(best.value_or(found->second), found->second);
      }
  return best;
}

}  // namespace pinstep
