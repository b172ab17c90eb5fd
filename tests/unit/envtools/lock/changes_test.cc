#include "envtools/lock/changes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

LockedPackage package(std::string name, std::string version, std::string build = "0",
                      Manager manager = Manager::conda) {
  LockedPackage made;
  made.manager = manager;
  made.name = std::move(name);
  made.version = std::move(version);
  made.platform = "linux-64";
  made.build = std::move(build);
  return made;
}

std::vector<std::string> lines_of(const std::vector<PackageChange>& changes) {
  std::vector<std::string> lines;
  for (const PackageChange& change : changes) lines.push_back(to_line(change));
  return lines;
}

TEST(PackageChanges, NameWhatBecameOfEachPackage) {
  const std::vector<LockedPackage> before{package("gone", "1"), package("same", "1"), package("xz", "5.10"),
                                          package("y", "5.9"), package("z", "1", "0")};
  const std::vector<LockedPackage> after{package("new", "1"), package("same", "1"), package("xz", "5.9"),
                                         package("y", "5.10"), package("z", "1", "1")};
  const auto changes = package_changes(before, after);
  EXPECT_THAT(lines_of(changes),
              ElementsAre("- gone 1 (linux-64)", "+ new 1 (linux-64)", "↓ xz 5.10 → 5.9 (linux-64)",
                          "↑ y 5.9 → 5.10 (linux-64)", "~ z 1 0 → 1 1 (linux-64)"));
  EXPECT_EQ(summary(changes), "1 upgraded, 1 downgraded, 1 rebuilt, 1 added, 1 removed");
  EXPECT_THAT(package_changes(after, after), IsEmpty());
  EXPECT_EQ(summary({}), "no package changed");
}

TEST(PackageChanges, CondasAndPipsPackageOfOneNameAreTwo) {
  EXPECT_THAT(lines_of(package_changes({package("numpy", "1")}, {package("numpy", "1", "", Manager::pip)})),
              ElementsAre("- numpy 1 (linux-64)", "+ numpy 1 (linux-64, pip)"));
}

TEST(PackageChanges, ArtifactsAreTheSameByTheirHashes) {
  LockedPackage one = package("xz", "1");
  LockedPackage other = package("xz", "1");
  one.sha256 = std::string(64, 'a');
  EXPECT_THAT(package_changes({one}, {other}), IsEmpty());
  other.sha256 = std::string(64, 'b');
  EXPECT_THAT(lines_of(package_changes({one}, {other})), ElementsAre("~ xz 1 0 → 1 0 (linux-64)"));
}

}  // namespace
}  // namespace pinstep
