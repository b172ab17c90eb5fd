#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "envtools/lock/lock.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;
using testing_support::FailsWith;
using testing_support::Succeeds;

const std::string kSha(64, 'a');

// Version 7: platforms have names of their own; two of them are for one subdirectory.
const std::string kSeven =
    "version: 7\n"
    "platforms:\n"
    "- {name: linux-64}\n"
    "- {name: gpu, subdir: linux-64, virtual-packages: ['__cuda=12', '__libc >= 32']}\n"
    "- {name: mac, subdir: osx-arm64}\n"
    "environments:\n"
    "  default:\n"
    "    channels: [{url: 'https://user:secret@h.example.org/c/'}]\n"
    "    packages:\n"
    "      linux-64:\n"
    "      - conda: https://h.example.org/c/linux-64/a-1-0.conda\n"
    "      - pypi: https://w.example.org/Py_Y-2.0-py3-none-any.whl\n"
    "      gpu:\n"
    "      - conda: https://h.example.org/c/linux-64/a-2-cuda.conda\n"
    "      mac:\n"
    "      - conda: https://h.example.org/c/linux-64/a-1-0.conda\n"
    "  test:\n"
    "    channels: []\n"
    "    packages: {linux-64: [{conda: 'https://h.example.org/c/linux-64/a-1-0.conda'}]}\n"
    "packages:\n"
    "- conda: https://h.example.org/c/linux-64/a-1-0.conda\n"
    "  sha256: " +
    kSha +
    "\n"
    "  size: 77\n"
    "  depends: ['b >=1,<2', python, python 3.1.*]\n"
    "- conda: https://h.example.org/c/linux-64/a-2-cuda.conda\n"
    "  md5: " +
    std::string(32, 'b') +
    "\n"
    "- pypi: https://w.example.org/Py_Y-2.0-py3-none-any.whl\n"
    "  name: Py.Y\n"
    "  version: '2.0'\n"
    "  sha256: " +
    std::string(64, 'c') +
    "\n"
    "  requires_dist: ['numpy>=2', \"furo ; extra == 'docs'\"]\n";

std::string changed(std::string text, std::string_view from, std::string_view to) {
  const std::size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

std::vector<std::string> names(const Lock& lock, std::string_view platform) {
  std::vector<std::string> found;
  const auto packages = lock.packages_for(platform).value();
  for (const LockedPackage& package : packages)
    found.push_back(package.name + "-" + package.version + "-" + package.build);
  return found;
}

TEST(ParsePixi, ReadsTheDefaultEnvironment) {
  const auto lock = parse_lock(kSeven, "/d/pixi.lock");
  ASSERT_THAT(lock, Succeeds());
  EXPECT_EQ(lock->origin, Lock::Origin::pixi);
  EXPECT_THAT(lock->platforms, ElementsAre("linux-64", "osx-arm64"));
  EXPECT_THAT(lock->channels, ElementsAre(LockedChannel{"https://h.example.org/c", "https://h.example.org/c"}));
  EXPECT_THAT(names(*lock, "linux-64"), ElementsAre("a-1-0", "py-y-2.0-"));
  const LockedPackage& a = lock->packages[0];
  EXPECT_EQ(a.sha256, kSha);
  EXPECT_EQ(a.size, 77u);
  EXPECT_THAT(a.dependencies, UnorderedElementsAre(Pair("b", ">=1,<2"), Pair("python", "3.1.*")));
  EXPECT_THAT(lock->packages[1].dependencies, ElementsAre(Pair("numpy", ">=2")));
  EXPECT_EQ(lock->packages[1].manager, Manager::pip);
}

TEST(ParsePixi, ReadsWhatIsAskedFor) {
  EXPECT_THAT(parse_lock(kSeven, "/d/p", "test").value().platforms, ElementsAre("linux-64"));
  for (const char* part : {"@gpu", "default@gpu"}) {
    const auto gpu = parse_lock(kSeven, "/d/p", part);
    ASSERT_THAT(gpu, Succeeds()) << part;
    EXPECT_THAT(names(*gpu, "linux-64"), ElementsAre("a-2-cuda"));
    EXPECT_THAT(gpu->custom, ElementsAre(Pair("pinstep.profile.linux-64", "__cuda=12")));
  }
}

TEST(ParsePixi, PrefersThePlatformOfItsOwnNameInAnyOrder) {
  const std::string gpu = "      gpu:\n      - conda: https://h.example.org/c/linux-64/a-2-cuda.conda\n";
  const auto lock =
      parse_lock(changed(changed(kSeven, gpu, ""), "    packages:\n", "    packages:\n" + gpu), "/d/p");
  ASSERT_THAT(lock, Succeeds());
  EXPECT_THAT(names(*lock, "linux-64"), ElementsAre("a-1-0", "py-y-2.0-"));
  EXPECT_TRUE(lock->custom.empty());
}

TEST(ParsePixi, IsTheSameAsALockOfOurs) {
  const Lock lock = parse_lock(kSeven, "/d/p").value();
  const Lock again = parse_lock(write_lock(lock), "/d/l").value();
  EXPECT_THAT(again.packages, UnorderedElementsAreArray(lock.packages));
  EXPECT_EQ(again.channels, lock.channels);
  EXPECT_EQ(environment_id(again, "linux-64", {}).value(), environment_id(lock, "linux-64", {}).value());
}

TEST(ParsePixi, LeavesOutTheUsersOwnCodeAndSaysSo) {
  const std::string own =
      changed(changed(kSeven, "      gpu:\n", "      - pypi: ./\n      gpu:\n"), "packages:\n- conda",
              "packages:\n- pypi: ./\n  name: mine\n  editable: true\n- conda");
  const auto lock = parse_lock(own, "/d/p");
  ASSERT_THAT(lock, Succeeds());
  EXPECT_EQ(lock->packages.size(), 3u);
  EXPECT_THAT(lock->notes,
              ElementsAre("/d/p:13: 'mine' is code of yours in './', which no environment has in it"));
}

TEST(ParsePixi, TakesAnArchiveBesideTheLock) {
  const auto lock = parse_lock(
      changed(changed(kSeven, "https://w.example.org/Py", "../w/Py"), "https://w.example.org/Py", "../w/Py"),
      "/d/p");
  ASSERT_THAT(lock, Succeeds());
  EXPECT_EQ(lock->packages[1].url, "file:///w/Py_Y-2.0-py3-none-any.whl");
}

TEST(ParsePixi, SaysWhatIsWrongAndWhere) {
  const std::string a = "- conda: https://h.example.org/c/linux-64/a-1-0.conda\n";
  struct Case {
    std::string text, part, cause;
  };
  const Case cases[] = {
      {kSeven, "tset", "l:7: there is no environment 'tset'"},
      {kSeven, "test@gpu", "l:19: the environment 'test' has no platform 'gpu'"},
      {changed(kSeven, "{name: gpu", "{name: mac"), "", "l:5: the platform 'mac' is there twice"},
      {changed(kSeven, "name: mac", "name: win"), "",
       "l:15: the environment 'default' is for 'mac', which 'platforms' "
       "does not have"},
      {changed(kSeven, "{name: linux-64}", "{name: cpu, subdir: linux-64}"), "",
       "l:10: the environment 'default' is for 'linux-64', which 'platforms' does not have"},
      {changed(changed(changed(kSeven, "{name: linux-64}", "{name: cpu, subdir: linux-64}"),
                       "      linux-64:", "      cpu:"),
               "{linux-64:", "{cpu:"),
       "", "l:13: the environment has 'cpu' and 'gpu', both for linux-64"},
      {changed(kSeven, "packages:\n" + a, "packages:\n- what: x\n"), "",
       "l:21: a package is none of conda's nor of an index of Python's"},
      {changed(kSeven, "- conda: https://h.example.org/c/linux-64/a-1",
               "- conda: https://h.example.org/c/linux-64/b-1"),
       "", "l:11: 'https://h.example.org/c/linux-64/b-1-0.conda' is not among the packages of the file"},
      {changed(kSeven, "sha256: aa", "sha256: xy"), "", "l:21: the hash of 'a' is not made of hex digits"},
      {changed(kSeven, "  sha256: " + kSha + "\n", ""), "",
       "l:21: 'a' has no hash, so what is fetched cannot be checked"},
      {changed(kSeven, "name: Py.Y", "name: ../x"), "", "l:27: '-/x' with version '2.0' is not a package"},
      {"version: 7\nenvironments: []\n", "", "l:2: the lock has no 'environments'"},
      {"environments: {}\n", "", "l:1: the lock has no 'version'"},
      {"version: 6\nenvironments: {default: {}}\n", "", "l:2: the environment 'default' has no packages"},
      {"version: 6\nenvironments: {default: {packages: {}}}\n", "",
       "l:2: the environment 'default' has no platform"},
  };
  for (const Case& c : cases) {
    const auto lock = parse_lock(c.text, "l", c.part);
    ASSERT_FALSE(lock) << c.cause;
    EXPECT_EQ(lock.error().cause, c.cause);
    EXPECT_EQ(lock.error().kind, ErrorKind::invalid);
  }
}

TEST(ParsePixi, RefusesWhatIsToBeBuiltFirst) {
  for (const char* place : {"git+https://h.example.org/x@abc", "./x", "."}) {
    const std::string text = changed(changed(kSeven, "https://w.example.org/Py_Y-2.0-py3-none-any.whl", place),
                                     "https://w.example.org/Py_Y-2.0-py3-none-any.whl", place);
    EXPECT_THAT(parse_lock(text, "l").error().cause,
                HasSubstr("l:12: '" + std::string(place) + "' is the source"));
  }
  const std::string source = changed(
      changed(kSeven, "- conda: https://h.example.org/c/linux-64/a-1-0.conda", "- conda_source: a[0] @ ../a"),
      "packages:\n- conda:", "packages:\n- conda_source: a[0] @ ../a\n- conda:");
  EXPECT_THAT(parse_lock(source, "l").error().cause,
              HasSubstr("l:11: 'a[0] @ ../a' is the source of a package"));
}

TEST(ParsePixi, RefusesOtherVersions) {
  EXPECT_THAT(parse_lock("version: 5\nenvironments: {}\n", "l"),
              FailsWith(ErrorKind::unsupported, "l:1: a pixi.lock of version '5'",
                        "'pixi lock' of a newer pixi writes version 6 or 7, which are read"));
  EXPECT_THAT(
      parse_lock("version: 8\nenvironments: {}\n", "l"),
      FailsWith(ErrorKind::unsupported, "l:1: a pixi.lock of version '8'", "pinstep reads versions 6 and 7"));
}

TEST(ParseLock, HasNoEnvironmentsButForPixi) {
  EXPECT_THAT(parse_lock("@EXPLICIT\n", "l", "test"),
              FailsWith(ErrorKind::invalid, "l: there is no 'test' in this lock",
                        "only a pixi.lock has several environments"));
}

}  // namespace
}  // namespace pinstep
