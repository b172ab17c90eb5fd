#include "envtools/piplock/requirements.h"

#include "envtools/base/text.h"
#include "envtools/spec/check.h"

namespace pinstep {
std::map<std::string, std::set<std::string>> allowed_hashes(const std::vector<SpecLine>& lines) {
  constexpr std::string_view kOption = "--hash=sha256:";
  std::map<std::string, std::set<std::string>> allowed;
  for (const SpecLine& line : lines)
    for (const std::string_view word : split(line.text, ' '))
      if (word.starts_with(kOption))
        allowed[requirement_name(line.text)].insert(to_lower(word.substr(kOption.size())));
  return allowed;
}

Result<void> check_allowed(const Lock& lock, const std::vector<SpecLine>& lines, const std::string& path) {
  const auto allowed = allowed_hashes(lines);
  for (const LockedPackage& package : lock.packages) {
    if (package.manager != Manager::pip) continue;
    const auto hashes = allowed.find(package.name);
    if (hashes == allowed.end())
      return fail(ErrorKind::invalid,
                  path + ": '" + package.name + "' is needed and not in the file with a hash",
                  "'pip-compile --generate-hashes' and 'uv pip compile --generate-hashes' write whole files");
    if (!hashes->second.contains(package.sha256))
      return fail(ErrorKind::invalid, path + ": '" + package.url.substr(package.url.rfind('/') + 1) +
                                          "' has none of the hashes that the file has for '" + package.name +
                                          "'");
  }
  return {};
}

}  // namespace pinstep
