#include "envtools/lock/changes.h"

#include <algorithm>
#include <array>
#include <map>
#include <tuple>

#include "envtools/lock/version.h"

namespace pinstep {
namespace {

using Kind = PackageChange::Kind;

struct Word {
  Kind kind;
  std::string_view name;
  std::string_view sign;
};
// In the order in which they are counted.
constexpr std::array<Word, 5> kWords{{{Kind::upgraded, "upgraded", "↑"},
                                      {Kind::downgraded, "downgraded", "↓"},
                                      {Kind::rebuilt, "rebuilt", "~"},
                                      {Kind::added, "added", "+"},
                                      {Kind::removed, "removed", "-"}}};

const Word& word_of(Kind kind) {
  return *std::find_if(kWords.begin(), kWords.end(), [&](const Word& word) { return word.kind == kind; });
}

using Key = std::tuple<std::string_view, Manager, std::string_view>;

std::map<Key, const LockedPackage*> by_name(const std::vector<LockedPackage>& packages) {
  std::map<Key, const LockedPackage*> found;
  for (const LockedPackage& package : packages)
    found[{package.name, package.manager, package.platform}] = &package;
  return found;
}

bool is_same(const LockedPackage& a, const LockedPackage& b) {
  if (!a.sha256.empty() && !b.sha256.empty()) return a.sha256 == b.sha256;
  return a.version == b.version && a.build == b.build;
}

PackageChange changed(const LockedPackage& before, const LockedPackage& after) {
  PackageChange change{Kind::rebuilt, after.manager, after.name, after.platform, before.version, after.version};
  const auto order = compare_versions(before.version, after.version);
  if (before.version == after.version) {
    change.before += before.build.empty() ? "" : " " + before.build;
    change.after += after.build.empty() ? "" : " " + after.build;
  } else if (order != 0) {
    change.kind = order < 0 ? Kind::upgraded : Kind::downgraded;
  }
  return change;
}

}  // namespace

std::string_view to_string(Kind kind) { return word_of(kind).name; }

std::vector<PackageChange> package_changes(const std::vector<LockedPackage>& before,
                                           const std::vector<LockedPackage>& after) {
  const auto old_packages = by_name(before);
  const auto new_packages = by_name(after);
  std::map<Key, PackageChange> changes;
  for (const auto& [key, old] : old_packages)
    if (!new_packages.contains(key))
      changes[key] = {Kind::removed, old->manager, old->name, old->platform, old->version, ""};
  for (const auto& [key, package] : new_packages) {
    const auto old = old_packages.find(key);
    if (old == old_packages.end())
      changes[key] = {Kind::added, package->manager, package->name, package->platform, "", package->version};
    else if (!is_same(*old->second, *package))
      changes[key] = changed(*old->second, *package);
  }
  std::vector<PackageChange> sorted;
  for (auto& [key, change] : changes) sorted.push_back(std::move(change));
  return sorted;
}

std::string to_line(const PackageChange& change) {
  const bool both = !change.before.empty() && !change.after.empty();
  return std::string(word_of(change.kind).sign) + " " + change.name + " " + change.before +
         (both ? " → " : "") + change.after + " (" + change.platform +
         (change.manager == Manager::pip ? ", pip)" : ")");
}

std::string summary(const std::vector<PackageChange>& changes) {
  std::string text;
  for (const Word& word : kWords) {
    const auto count = std::count_if(changes.begin(), changes.end(),
                                     [&](const PackageChange& change) { return change.kind == word.kind; });
    if (count > 0) text += (text.empty() ? "" : ", ") + std::to_string(count) + " " + std::string(word.name);
  }
  return text.empty() ? "no package changed" : text;
}

}  // namespace pinstep
