#include "envtools/lock/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "envtools/spec/spec.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;
using testing::UnorderedElementsAreArray;
using testing_support::FailsWith;

LockedPackage package(const std::string& name, const std::string& version,
                      std::vector<std::string> needs = {}) {
  LockedPackage made;
  made.name = name;
  made.version = version;
  made.build = "0";
  made.platform = "linux-64";
  made.url = "https://channel.example/c/linux-64/" + name + "-" + version + "-0.conda";
  made.sha256 = std::string(63, '0') + name[0];
  for (const std::string& need : needs) made.dependencies[need] = "";
  return made;
}

Lock a_lock() {
  Lock lock;
  lock.platforms = {"linux-64"};
  lock.content_hash = {{"linux-64", "0"}};
  lock.channels = {{"c", "https://channel.example/c"}};
  lock.variables = {{"GREETING", "yes"}};
  LockedPackage wheel = package("e", "1.5");
  wheel.manager = Manager::pip;
  wheel.url = "https://channel.example/e-1.5-py3-none-any.whl";
  wheel.build.clear();
  lock.packages = {package("a", "1", {"b", "elsewhere"}), package("b", "2.0", {"d"}), package("d", "3", {"a"}),
                   wheel};
  return lock;
}

std::string text_of(ExportFormat format) {
  const auto exported = export_lock(a_lock(), format, "linux-64");
  return exported ? exported->text : exported.error().cause;
}

TEST(Export, ExplicitListsWhatIsNeededFirst) {
  const auto line = [](std::string_view name, char digit) {
    return "https://channel.example/c/linux-64/" + std::string(name) +
           "-0.conda#sha256:" + std::string(63, '0') + digit + "\n";
  };
  EXPECT_EQ(text_of(ExportFormat::explicit_list),
            "# platform: linux-64\n@EXPLICIT\n" + line("d-3", 'd') + line("b-2.0", 'b') + line("a-1", 'a'));
  EXPECT_THAT(export_lock(a_lock(), ExportFormat::explicit_list, "linux-64")->notes,
              ElementsAre("1 package of pip left out: the format has no place for them",
                          "variables left out: the format has no place for them"));
}

TEST(Export, ExplicitIsReadBackAsTheSameArtifacts) {
  const auto read = parse_lock(text_of(ExportFormat::explicit_list), "/x/explicit.txt");
  ASSERT_TRUE(read) << read.error().cause;
  const auto packages = *read->packages_for("linux-64");
  ASSERT_EQ(packages.size(), 3u);
  for (std::size_t i = 0; i < packages.size(); ++i) {
    EXPECT_EQ(packages[i].url, a_lock().packages[i].url);
    EXPECT_EQ(packages[i].sha256, a_lock().packages[i].sha256);
  }
}

TEST(Export, EnvironmentIsASpecThatNamesEachBuild) {
  const std::string text = text_of(ExportFormat::environment);
  EXPECT_EQ(text,
            "channels:\n  - c\n  - nodefaults\ndependencies:\n  - a=1=0\n  - b=2.0=0\n  - d=3=0\n  - pip:\n"
            "      - e==1.5\nvariables:\n  GREETING: 'yes'\n");
  const auto spec = parse_spec(text, "/x/environment.yml");
  ASSERT_TRUE(spec) << spec.error().cause;
  EXPECT_EQ(spec->conda.size(), 3u);
  EXPECT_EQ(spec->variables.at("GREETING"), "yes");
}

TEST(Export, RequirementsHaveHashes) {
  EXPECT_EQ(text_of(ExportFormat::requirements), "e==1.5 --hash=sha256:" + std::string(63, '0') + "e\n");
  EXPECT_THAT(export_lock(a_lock(), ExportFormat::requirements, "linux-64")->notes,
              ElementsAre("3 packages of conda left out: the format has no place for them",
                          "variables left out: the format has no place for them"));
  Lock lock = a_lock();
  lock.packages.back().sha256.clear();
  EXPECT_THAT(export_lock(lock, ExportFormat::requirements, "linux-64"),
              FailsWith(ErrorKind::invalid, "the lock has no sha256 of 'e'",
                        "pip takes no requirements file in which only some packages have hashes"));
}

TEST(Export, RequirementsOfNothingSaySo) {
  Lock lock = a_lock();
  lock.packages.pop_back();
  const auto exported = export_lock(lock, ExportFormat::requirements, "linux-64");
  EXPECT_EQ(exported->text, "");
  EXPECT_THAT(exported->notes, Contains(HasSubstr("no package is of pip")));
}

TEST(Export, EnvironmentHasTheNameThatItsSpecHas) {
  EXPECT_THAT(export_lock(a_lock(), ExportFormat::environment, "linux-64", "on")->text,
              StartsWith("name: 'on'\nchannels:\n"));
}

TEST(Export, PixiIsReadBackAsTheSameLock) {
  Lock lock = a_lock();
  lock.platforms.push_back("linux-aarch64");
  LockedPackage noarch = lock.packages[0];
  noarch.platform = "linux-aarch64";
  lock.packages.push_back(noarch);
  lock.packages[1].build = "other";
  lock.packages[1].size = 77;
  lock.packages[1].md5 = std::string(32, 'b');
  const auto exported = export_lock(lock, ExportFormat::pixi, "linux-64");
  ASSERT_TRUE(exported) << exported.error().cause;
  EXPECT_THAT(exported->notes, ElementsAre("variables left out: the format has no place for them"));
  const auto read = parse_lock(exported->text, "/x/pixi.lock");
  ASSERT_TRUE(read) << read.error().cause << exported->text;
  EXPECT_EQ(read->platforms, lock.platforms);
  EXPECT_THAT(read->channels,
              ElementsAre(LockedChannel{"https://channel.example/c", "https://channel.example/c"}));
  EXPECT_THAT(read->packages, UnorderedElementsAreArray(lock.packages));
  EXPECT_EQ(export_lock(*read, ExportFormat::pixi, "linux-64")->text, exported->text);
}

TEST(Export, ALockIsTheLockItself) {
  const auto read = parse_lock(text_of(ExportFormat::conda_lock), "/x/environment-lock.yml");
  ASSERT_TRUE(read) << read.error().cause;
  EXPECT_EQ(write_lock(*read), write_lock(a_lock()));
}

TEST(Export, WhatIsNotThereIsNamed) {
  EXPECT_THAT(export_lock(a_lock(), ExportFormat::explicit_list, "osx-64"),
              FailsWith(ErrorKind::invalid, "the lock is for linux-64, not for osx-64"));
  EXPECT_THAT(parse_export_format("explicitt"),
              FailsWith(ErrorKind::usage, "there is no format 'explicitt'", "did you mean 'explicit'?"));
  EXPECT_THAT(parse_export_format("poetry").error().hint, HasSubstr("are known"));
}

}  // namespace
}  // namespace pinstep
