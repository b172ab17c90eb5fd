#include "envtools/lock/export.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include "envtools/base/text.h"
#include "envtools/lock/reader.h"
#include "envtools/package/package.h"
#include "envtools/yaml/yaml.h"

namespace pinstep {
namespace {

constexpr std::array<std::pair<std::string_view, ExportFormat>, 5> kFormats{
    {{"explicit", ExportFormat::explicit_list},
     {"conda-lock", ExportFormat::conda_lock},
     {"environment", ExportFormat::environment},
     {"requirements", ExportFormat::requirements},
     {"pixi", ExportFormat::pixi}}};

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

// What a format leaves out, in a line each.
std::vector<std::string> left_out(const Packages& packages, Manager manager, const Lock& lock) {
  std::vector<std::string> notes;
  const std::size_t number = count(packages, manager);
  if (number > 0)
    notes.push_back(std::to_string(number) + (number == 1 ? " package of " : " packages of ") +
                    (manager == Manager::pip ? "pip" : "conda") +
                    " left out: the format has no place for them");
  if (!lock.variables.empty()) notes.push_back("variables left out: the format has no place for them");
  return notes;
}

Result<Exported> as_explicit(const Packages& packages, const Lock& lock, std::string_view platform) {
  Exported exported{"# platform: " + std::string(platform) + "\n@EXPLICIT\n",
                    left_out(packages, Manager::pip, lock)};
  const Packages conda = only(packages, Manager::conda);
  for (const LockedPackage* package : ByDependency(conda).order) {
    const std::string hash = !package->sha256.empty() ? "#sha256:" + package->sha256
                             : !package->md5.empty()  ? "#" + package->md5
                                                      : "";
    exported.text += package->url + hash + "\n";
  }
  return exported;
}

Result<Exported> as_requirements(const Packages& packages, const Lock& lock) {
  Exported exported{"", left_out(packages, Manager::conda, lock)};
  if (count(packages, Manager::pip) == 0)
    exported.notes.push_back("nothing printed: no package is of pip; --format=explicit lists those of conda");
  for (const LockedPackage& package : only(packages, Manager::pip)) {
    if (package.sha256.empty())
      return fail(ErrorKind::invalid, "the lock has no sha256 of '" + package.name + "'",
                  "pip takes no requirements file in which only some packages have hashes");
    exported.text += package.name + "==" + package.version + " --hash=sha256:" + package.sha256 + "\n";
  }
  return exported;
}

Exported as_environment(const Lock& lock, const Packages& packages, std::string_view name) {
  std::string text = name.empty() ? "" : "name: " + yaml_scalar(name) + "\n";
  text += "channels:\n";
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
  return {text, {}};
}

// The records of all platforms, each once: pixi names them by their URL.
std::string pixi_records(const Packages& packages) {
  std::map<std::pair<Manager, std::string_view>, const LockedPackage*> records;
  for (const LockedPackage& package : packages)
    records.emplace(std::pair(package.manager, std::string_view(package.url)), &package);
  std::string text;
  for (const auto& [key, package] : records) {
    const bool conda = package->manager == Manager::conda;
    const auto line = [&](std::string_view name, const std::string& value) {
      if (!value.empty()) text += "  " + std::string(name) + ": " + yaml_scalar(value) + "\n";
    };
    text += (conda ? "- conda: " : "- pypi: ") + yaml_scalar(package->url) + "\n";
    const auto told = conda ? parse_archive_name(package->url) : tl::unexpected(Error{});
    if (!told || told->name != package->name) line("name", package->name);
    if (!told || told->version != package->version) line("version", package->version);
    if (told && told->build != package->build) line("build", package->build);
    // pixi takes a file for a path, which tells it no subdirectory.
    if (conda && package->url.starts_with("file:")) {
      const std::string_view subdir = subdir_of(package->url);
      line("subdir", subdir.empty() ? package->platform : std::string(subdir));
    }
    line("sha256", package->sha256);
    line("md5", package->md5);
    if (!package->dependencies.empty()) text += conda ? "  depends:\n" : "  requires_dist:\n";
    for (const auto& [name, constraint] : package->dependencies)
      text += "  - " + yaml_scalar(name + (constraint.empty() ? "" : " " + constraint)) + "\n";
    if (package->size > 0) text += "  size: " + std::to_string(package->size) + "\n";
  }
  return text;
}

Result<Exported> as_pixi(const Lock& lock) {
  std::string text = "version: 6\nenvironments:\n  default:\n    channels:";
  if (lock.channels.empty()) text += " []";
  text += "\n";
  for (const LockedChannel& channel : lock.channels)
    text += "    - url: " + yaml_scalar((channel.url.empty() ? channel.name : channel.url) + "/") + "\n";
  text += "    packages:\n";
  Packages all;
  for (const std::string& platform : lock.platforms) {
    const auto packages = lock.packages_for(platform);
    if (!packages) return tl::unexpected(packages.error());
    text += "      " + yaml_scalar(platform) + (packages->empty() ? ": []\n" : ":\n");
    for (const LockedPackage& package : *packages) {
      if (package.sha256.empty() && package.md5.empty())
        return fail(ErrorKind::invalid, "the lock has no hash of '" + package.name + "'");
      text += std::string("      - ") + (package.manager == Manager::conda ? "conda: " : "pypi: ") +
              yaml_scalar(package.url) + "\n";
    }
    all.insert(all.end(), packages->begin(), packages->end());
  }
  text += all.empty() ? "packages: []\n" : "packages:\n";
  Exported exported{text + pixi_records(all), {}};
  if (!lock.variables.empty()) exported.notes.push_back("variables left out: the format has no place for them");
  return exported;
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
                   : "explicit, conda-lock, environment, requirements and pixi are known");
}

Result<Exported> export_lock(const Lock& lock, ExportFormat format, std::string_view platform,
                             std::string_view name) {
  if (format == ExportFormat::conda_lock) return Exported{write_lock(lock), {}};
  if (format == ExportFormat::pixi) return as_pixi(lock);
  const auto packages = lock.packages_for(platform);
  if (!packages) return tl::unexpected(packages.error());
  if (format == ExportFormat::explicit_list) return as_explicit(*packages, lock, platform);
  if (format == ExportFormat::requirements) return as_requirements(*packages, lock);
  return as_environment(lock, *packages, name);
}

}  // namespace pinstep
