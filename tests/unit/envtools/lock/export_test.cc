#include "envtools/lock/export.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "envtools/spec/spec.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::HasSubstr;
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
  EXPECT_EQ(export_lock(a_lock(), ExportFormat::explicit_list, "linux-64")->left_out, 1u);
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
  EXPECT_EQ(export_lock(a_lock(), ExportFormat::requirements, "linux-64")->left_out, 3u);
  Lock lock = a_lock();
  lock.packages.back().sha256.clear();
  EXPECT_THAT(export_lock(lock, ExportFormat::requirements, "linux-64"),
              FailsWith(ErrorKind::invalid, "the lock has no sha256 of 'e'",
                        "pip takes no requirements file in which only some packages have hashes"));
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
  EXPECT_THAT(parse_export_format("pixi").error().hint, HasSubstr("are known"));
}

}  // namespace
}  // namespace pinstep
