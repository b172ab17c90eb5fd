#include "envtools/package/metadata.h"

#include <filesystem>

#include "tests/unit/support/files.h"
#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing::Not;
using testing_support::FailsWith;
using testing_support::Random;
using testing_support::Succeeds;
using testing_support::TemporaryDirectory;
using testing_support::write_file;
using Mode = PackagePath::Mode;
using Type = PackagePath::Type;

std::string paths_json(const std::string& entries) {
  return R"({"paths_version": 1, "paths": [)" + entries + "]}";
}

std::vector<std::string> names(const std::vector<PackagePath>& paths) {
  std::vector<std::string> names;
  for (const PackagePath& path : paths) names.push_back(path.path);
  return names;
}

TEST(ParsePaths, ReadsEveryKindOfEntrySorted) {
  const std::string digest(64, 'c');
  const auto paths = parse_paths(
      paths_json(
          R"({"_path": "lib/l.so", "path_type": "softlink", "sha256": ")" + digest +
          R"(", "size_in_bytes": 7},)" + R"({"_path": "empty", "path_type": "directory"},)" +
          R"({"_path": "bin/x", "path_type": "hardlink", "sha256": ")" + digest +
          R"(", "size_in_bytes": 9, "prefix_placeholder": "/old", "file_mode": "binary", "no_link": true})"),
      "p");
  ASSERT_TRUE(paths) << testing::PrintToString(paths);
  EXPECT_THAT(names(*paths), ElementsAre("bin/x", "empty", "lib/l.so"));
  const PackagePath& file = (*paths)[0];
  EXPECT_EQ(file.sha256, digest);
  EXPECT_EQ(file.size, 9U);
  EXPECT_EQ(file.placeholder, "/old");
  EXPECT_EQ(file.mode, Mode::binary);
  EXPECT_TRUE(file.no_link);
  EXPECT_EQ((*paths)[1].type, Type::directory);
  EXPECT_EQ((*paths)[2].type, Type::symlink);
}

TEST(ParsePaths, RefusesWhatCannotBeTrusted) {
  const auto entry = [](const std::string& path) {
    return parse_paths(paths_json(R"({"_path": ")" + path + R"(", "path_type": "hardlink"})"), "p");
  };
  for (const char* path : {"", "/etc/x", "..", "a/../b", "a//b", "a/", "./a", "a/./b", "a\\u0000b"})
    EXPECT_THAT(entry(path), Not(Succeeds())) << path;
  EXPECT_THAT(entry("../x"), FailsWith(ErrorKind::refused, "'p' has a path '../x'",
                                       "such a name could lead out of the prefix"));
  EXPECT_THAT(parse_paths(paths_json(R"({"_path": "a", "path_type": "pipe"})"), "p"),
              FailsWith(ErrorKind::unsupported, "'p' gives 'a' the unknown type 'pipe'"));
  EXPECT_THAT(parse_paths(R"({"paths_version": 2, "paths": []})", "p"),
              FailsWith(ErrorKind::unsupported, "'p' is not of version 1"));
  EXPECT_THAT(parse_paths(paths_json(R"({"_path": "a", "path_type": "hardlink", "size_in_bytes": 1},
                                        {"_path": "a", "path_type": "hardlink", "size_in_bytes": 2})"),
                          "p"),
              FailsWith(ErrorKind::corrupt, "'p' lists 'a' twice, in different ways"));
  EXPECT_THAT(
      parse_paths(paths_json(R"({"_path": "a", "path_type": "hardlink", "prefix_placeholder": "/x"})"), "p"),
      FailsWith(ErrorKind::corrupt, "'p' does not say whether 'a' is text or binary"));
}

TEST(ParseOldPaths, FollowsTheListsOfOldPackages) {
  const auto paths = parse_old_paths("bin/a\n\nlib/b c\nshare/d\n", "bin/a\n'/old place' binary \"lib/b c\"\n",
                                     "share/d\n", "f");
  ASSERT_TRUE(paths) << testing::PrintToString(paths);
  EXPECT_THAT(names(*paths), ElementsAre("bin/a", "lib/b c", "share/d"));
  EXPECT_EQ((*paths)[0].placeholder, "/opt/anaconda1anaconda2anaconda3");
  EXPECT_EQ((*paths)[0].mode, Mode::text);
  EXPECT_EQ((*paths)[1].placeholder, "/old place");
  EXPECT_EQ((*paths)[1].mode, Mode::binary);
  EXPECT_TRUE((*paths)[2].no_link);
  EXPECT_THAT(parse_old_paths("../x\n", "", "", "f"), Not(Succeeds()));
  EXPECT_THAT(parse_old_paths("", "a b\n", "", "f"),
              FailsWith(ErrorKind::corrupt, "'f' has a line in has_prefix that means nothing: 'a b'"));
}

TEST(ParseIndex, RefusesNamesThatAreNoPathParts) {
  const auto index = [](const std::string& name, const std::string& version, const std::string& more = "") {
    return parse_index(
        R"({"name": ")" + name + R"(", "version": ")" + version + R"(", "build": "0")" + more + "}", "i");
  };
  EXPECT_THAT(index("x", "1!2.0+a_b"), Succeeds());
  for (const char* bad : {"", "..", ".x", "a/b", "a\\\\b", "a b", "a\\n", "caf\xc3\xa9"}) {
    EXPECT_THAT(index(bad, "1"), Not(Succeeds())) << bad;
    EXPECT_THAT(index("x", bad), Not(Succeeds())) << bad;
  }
  EXPECT_THAT(index("x", "1", R"(, "python_site_packages_path": "../up")"),
              FailsWith(ErrorKind::refused, "'i' has python_site_packages_path '../up'",
                        "such a name could lead out of the prefix"));
  EXPECT_EQ(index("x", "1", R"(, "timestamp": 1715610974000)")->timestamp, 1715610974);
  EXPECT_EQ(index("x", "1", R"(, "timestamp": 1494000000)")->timestamp, 1494000000);
  EXPECT_EQ(index("x", "1", R"(, "noarch": true)")->noarch, Noarch::generic);
}

TEST(ParseEntryPoint, TakesIdentifiersAlone) {
  const auto point = parse_entry_point(" pip3.11 = pip._internal.cli.main : main.run ", "l");
  ASSERT_TRUE(point);
  EXPECT_EQ(point->command, "pip3.11");
  EXPECT_EQ(point->module, "pip._internal.cli.main");
  EXPECT_EQ(point->function, "main.run");
  for (const char* bad : {"", "x", "x = a", "x = a:", "x = :b", "= a:b", "../x = a:b", ".x = a:b", "a/b = a:b",
                          "x y = a:b", "x = a b:c", "x = a:b()", "x = a:b;import os", "x = a..b:c", "x = 1a:b",
                          "x = a:b [extra]", "x\x01 = a:b"})
    EXPECT_THAT(parse_entry_point(bad, "l"), Not(Succeeds())) << bad;
}

TEST(ReadPackage, RebuildsTheListOfAnOldPackageFromTheTree) {
  const TemporaryDirectory package;
  write_file(package / "info/index.json",
             R"({"name": "old", "version": "1.0", "build": "py27_0", "build_number": 0, "noarch": null})");
  write_file(package / "info/files", "bin/tool\nlib/l.so\nshare/x\nbin/.old-post-link.sh\n");
  write_file(package / "info/has_prefix", "bin/tool\n");
  write_file(package / "info/no_link", "share/x\n");
  write_file(package / "info/package_metadata.json",
             R"({"noarch": {"type": "python", "entry_points": ["old = old.main:main"]}})");
  write_file(package / "bin/tool", "12345");
  write_file(package / "share/x", "");
  write_file(package / "bin/.old-post-link.sh", "");
  std::filesystem::create_directories(package / "lib");
  std::filesystem::create_symlink("nothing", package / "lib/l.so");

  const auto info = read_package(package.path());
  ASSERT_TRUE(info) << testing::PrintToString(info);
  EXPECT_THAT(names(info->paths), ElementsAre("bin/.old-post-link.sh", "bin/tool", "lib/l.so", "share/x"));
  EXPECT_EQ(info->paths[1].size, 5U);
  EXPECT_EQ(info->paths[1].mode, Mode::text);
  EXPECT_EQ(info->paths[2].type, Type::symlink);
  EXPECT_TRUE(info->paths[3].no_link);
  EXPECT_THAT(info->link_scripts, ElementsAre("bin/.old-post-link.sh"));
  EXPECT_EQ(info->noarch, Noarch::python);
  EXPECT_EQ(info->entry_points.at(0).command, "old");

  std::filesystem::remove(package / "bin/tool");
  EXPECT_THAT(
      read_package(package.path()),
      FailsWith(ErrorKind::corrupt, "'" + package.path() + "' lacks 'bin/tool', which its info/files lists"));
}

TEST(ReadPackage, SaysWhatIsNoPackage) {
  const TemporaryDirectory package;
  EXPECT_THAT(
      read_package(package.path()),
      FailsWith(ErrorKind::corrupt, "'" + package.path() + "' is no conda package: it has no info/index.json"));
  write_file(package / "info/index.json", "[]");
  EXPECT_THAT(read_package(package.path()),
              FailsWith(ErrorKind::corrupt, "'" + package.path() + "/info/index.json' is no JSON object"));
}

// Whatever is accepted can be joined to a prefix without leaving it.
TEST(Metadata, AcceptsNoPathThatLeadsOut) {
  Random random;
  for (int i = 0; i < 5000; ++i) {
    const std::string path = random.text("ab./\\", 0, 8);
    const auto paths = parse_paths(
        dump_json({{"paths_version", 1}, {"paths", {{{"_path", path}, {"path_type", "hardlink"}}}}}), "p");
    if (!paths) continue;
    const auto normal = std::filesystem::path("/prefix/" + path).lexically_normal();
    EXPECT_EQ(normal, "/prefix/" + path) << random << path;
  }
}

}  // namespace
}  // namespace pinstep
