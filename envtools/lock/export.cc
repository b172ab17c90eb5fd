#include "envtools/lock/export.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "envtools/base/text.h"
#include "envtools/yaml/yaml.h"

namespace pinstep {
namespace {

constexpr std::array<std::pair<std::string_view, ExportFormat>, 4> kFormats{
    {{"explicit", ExportFormat::explicit_list},
     {"conda-lock", ExportFormat::conda_lock},
     {"environment", ExportFormat::environment},
     {"requirements", ExportFormat::requirements}}};

using Packages = std::vector<LockedPackage>;

// Points into `packages`. Dependencies before what needs them, otherwise by name; a cycle is broken where it is
// entered.
class ByDependency {
 public:
  explicit ByDependency(const Packages& packages) {
    for (const LockedPackage& package : packages) by_name_[package.name] = &package;
    for (const auto& [name, package] : by_name_) visit(*package);
  }
  std::vector<const LockedPackage*> order;

 private:
  void visit(const LockedPackage& package) {
    if (!seen_.insert(package.name).second) return;
    for (const auto& [name, constraint] : package.dependencies)
      if (const auto found = by_name_.find(name); found != by_name_.end()) visit(*found->second);
    order.push_back(&package);
  }

  std::map<std::string, const LockedPackage*> by_name_;
  std::set<std::string> seen_;
};

std::size_t count(const Packages& packages, Manager manager) {
  return static_cast<std::size_t>(
      std::count_if(packages.begin(), packages.end(),
                    [&](const LockedPackage& package) { return package.manager == manager; }));
}

Packages only(const Packages& packages, Manager manager) {
  Packages kept;
  std::copy_if(packages.begin(), packages.end(), std::back_inserter(kept),
               [&](const LockedPackage& package) { return package.manager == manager; });
  return kept;
}

Result<Exported> as_explicit(const Packages& packages, std::string_view platform) {
  Exported exported{"# platform: " + std::string(platform) + "\n@EXPLICIT\n", count(packages, Manager::pip)};
  const Packages conda = only(packages, Manager::conda);
  for (const LockedPackage* package : ByDependency(conda).order) {
    const std::string hash = !package->sha256.empty() ? "#sha256:" + package->sha256
                             : !package->md5.empty()  ? "#" + package->md5
                                                      : "";
    exported.text += package->url + hash + "\n";
  }
  return exported;
}

Result<Exported> as_requirements(const Packages& packages) {
  Exported exported{"", count(packages, Manager::conda)};
  for (const LockedPackage& package : only(packages, Manager::pip)) {
    if (package.sha256.empty())
      return fail(ErrorKind::invalid, "the lock has no sha256 of '" + package.name + "'",
                  "pip takes no requirements file in which only some packages have hashes");
    exported.text += package.name + "==" + package.version + " --hash=sha256:" + package.sha256 + "\n";
  }
  return exported;
}

Exported as_environment(const Lock& lock, const Packages& packages) {
  std::string text = "channels:\n";
  for (const LockedChannel& channel : lock.channels) text += "  - " + yaml_scalar(channel.name) + "\n";
  text += "  - nodefaults\ndependencies:\n";
  for (const LockedPackage& package : only(packages, Manager::conda))
    text +=
        "  - " +
        yaml_scalar(package.name + "=" + package.version + (package.build.empty() ? "" : "=" + package.build)) +
        "\n";
  const Packages pip = only(packages, Manager::pip);
  if (!pip.empty()) text += "  - pip:\n";
  for (const LockedPackage& package : pip)
    text += "      - " + yaml_scalar(package.name + "==" + package.version) + "\n";
  if (!lock.variables.empty()) text += "variables:\n";
  for (const auto& [variable, value] : lock.variables)
    text += "  " + yaml_scalar(variable) + ": " + yaml_scalar(value) + "\n";
  return {text, 0};
}

}  // namespace

Result<ExportFormat> parse_export_format(std::string_view name) {
  std::vector<std::string_view> names;
  for (const auto& [known, format] : kFormats) {
    if (known == name) return format;
    names.push_back(known);
  }
  const auto near = nearest(name, names);
  return fail(ErrorKind::usage, "there is no format '" + printable(name) + "'",
              near ? "did you mean '" + std::string(*near) + "'?"
                   : "explicit, conda-lock, environment and requirements are known");
}

Result<Exported> export_lock(const Lock& lock, ExportFormat format, std::string_view platform) {
  if (format == ExportFormat::conda_lock) return Exported{write_lock(lock), 0};
  const auto packages = lock.packages_for(platform);
  if (!packages) return tl::unexpected(packages.error());
  if (format == ExportFormat::explicit_list) return as_explicit(*packages, platform);
  if (format == ExportFormat::requirements) return as_requirements(*packages);
  return as_environment(lock, *packages);
}

}  // namespace pinstep
