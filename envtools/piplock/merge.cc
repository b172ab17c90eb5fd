#include "envtools/piplock/merge.h"

#include <algorithm>
#include <set>

#include "envtools/base/text.h"
#include "envtools/lock/version.h"
#include "envtools/solver/solver.h"

namespace pinstep {
namespace {

std::string machine_of(std::string_view platform) {
  const std::string_view kind = platform.substr(platform.find('-') + 1);
  return kind == "64" ? "x86_64" : std::string(kind);
}

// Wheels that may be installed beside what conda brings.
Result<void> take(Lock& lock, std::vector<LockedPackage> wheels,
                  const std::map<std::string, std::string>& provided, const std::string& path) {
  for (LockedPackage& wheel : wheels) {
    const auto there = provided.find(wheel.name);
    if (there == provided.end()) {
      lock.packages.push_back(std::move(wheel));
      continue;
    }
    if (compare_versions(there->second, wheel.version) != 0)
      return fail(
          ErrorKind::conflict,
          path + ": '" + wheel.name + "' is wanted as " + wheel.version + ", and conda brings " + there->second,
          "a package is either conda's or pip's: lock it in the version that conda has");
  }
  return {};
}

}  // namespace

Result<std::vector<std::string>> add_wheels(Lock& lock, const PipLock& pip, const PipChoice& choice,
                                            const std::map<std::string, std::string>& glibc,
                                            const std::string& path) {
  std::vector<std::string> notes;
  for (const std::string& platform : lock.platforms) {
    std::vector<LockedPackage> conda;
    std::copy_if(lock.packages.begin(), lock.packages.end(), std::back_inserter(conda),
                 [&](const LockedPackage& package) { return package.platform == platform; });
    const auto python = std::find_if(conda.begin(), conda.end(),
                                     [](const LockedPackage& package) { return package.name == "python"; });
    if (python == conda.end())
      return fail(ErrorKind::invalid, path + ": the packages of conda for " + platform + " have no python");
    const auto version = glibc.find(platform);
    const PythonTarget target{python->version, machine_of(platform),
                              version == glibc.end() ? "" : version->second};
    auto chosen = choose_wheels(pip, target, platform, choice, path);
    if (!chosen) return tl::unexpected(chosen.error());
    if (const auto done = take(lock, std::move(chosen->packages), provided_distributions(conda), path); !done)
      return tl::unexpected(done.error());
    for (std::string& note : chosen->notes)
      if (std::find(notes.begin(), notes.end(), note) == notes.end()) notes.push_back(std::move(note));
  }
  return notes;
}

}  // namespace pinstep
