#include "envtools/doctor/plugstack.h"

#include <gtest/gtest.h>

#include "tests/unit/support/files.h"

namespace pinstep::doctor {
namespace {

using testing_support::TemporaryDirectory;
using testing_support::write_file;

TEST(Plugstack, LinesAreReadAsSlurmDoes) {
  const Plugstack read = parse_plugstack(
      "# optional /not/this.so\n"
      "\n"
      "optional\t/a/pinstep.so store=/s  task_timeout=5\n"
      "  required b.so\r\n"
      "include /etc/slurm/plugstack.conf.d/*\n"
      "optional\n"
      "whatever /c.so\n",
      "p");
  EXPECT_EQ(read.plugins, (std::vector<PluginLine>{
                              {"optional", "/a/pinstep.so", {"store=/s", "task_timeout=5"}, "p:3"},
                              {"required", "b.so", {}, "p:4"},
                          }));
  EXPECT_EQ(read.includes, std::vector<std::string>{"/etc/slurm/plugstack.conf.d/*"});
}

TEST(Plugstack, IncludedFilesAreReadToo) {
  const TemporaryDirectory directory;
  write_file(directory / "plugstack.conf", "optional /first.so\ninclude plugstack.conf.d/*.conf\n");
  write_file(directory / "plugstack.conf.d/a.conf", "optional /a/pinstep.so\n");
  write_file(directory / "plugstack.conf.d/b.conf", "include " + (directory / "deeper") + "\n");
  write_file(directory / "plugstack.conf.d/c.off", "optional /c.so\n");
  write_file(directory / "deeper", "required /deeper.so\n");
  const auto read = read_plugstack(directory / "plugstack.conf");
  ASSERT_TRUE(read) << read.error().cause;
  std::vector<std::string> paths;
  for (const PluginLine& line : read->plugins) paths.push_back(line.path);
  EXPECT_EQ(paths, (std::vector<std::string>{"/first.so", "/a/pinstep.so", "/deeper.so"}));
  EXPECT_EQ(read->plugins[1].where, (directory / "plugstack.conf.d/a.conf") + ":1");
}

TEST(Plugstack, AFileThatIncludesItselfHasAnEnd) {
  const TemporaryDirectory directory;
  write_file(directory / "plugstack.conf", "include plugstack.conf\n");
  EXPECT_EQ(read_plugstack(directory / "plugstack.conf").error().kind, ErrorKind::corrupt);
  EXPECT_EQ(read_plugstack(directory / "none").error().kind, ErrorKind::not_found);
}

TEST(Plugstack, OursIsKnownByItsName) {
  for (const char* path : {"/usr/lib/pinstep/pinstep.so", "pinstep.so", "/x/pinstep-24.11.so"})
    EXPECT_TRUE(is_ours({"optional", path, {}, ""})) << path;
  for (const char* path : {"/usr/lib/pinstep/pyxis.so", "/x/pinstep.so.new", "/x/pin.so"})
    EXPECT_FALSE(is_ours({"optional", path, {}, ""})) << path;
}

}  // namespace
}  // namespace pinstep::doctor
