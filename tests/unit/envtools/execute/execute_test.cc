#include "envtools/execute/execute.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "envtools/base/fd.h"
#include "envtools/execute/files.h"
#include "envtools/hash/hash.h"
#include "tests/unit/support/files.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::HasSubstr;
using namespace testing_support;
using Kind = PlannedFile::Kind;

std::string content(const std::string& path) { return read_file(path, 1 << 20).value().text; }

struct stat status(const std::string& path) {
  struct stat info {};
  EXPECT_EQ(::lstat(path.c_str(), &info), 0) << path;
  return info;
}

mode_t mode(const std::string& path) { return status(path).st_mode & 07777; }

class Execute : public testing::Test {
 protected:
  Execute() {
    std::filesystem::create_directory(cache_);
    std::filesystem::create_directory(stage_);
    plan_.prefix = "/new";
    plan_.packages.resize(1);
    plan_.packages[0] = {"p", "1.0", "0", false, "{\"name\": \"p\"}", "p-1.0-0", "p-1.0-0.conda", {}, {}};
    plan_.directories = {"conda-meta"};
    plan_.time = 2000;
  }

  // A file of the package, in the cache and in the plan.
  PlannedFile& add(const std::string& path, std::string_view text, Kind kind = Kind::link) {
    PlannedFile file;
    file.path = path;
    file.kind = kind;
    file.time = 1000;
    file.owner = 0;
    if (kind == Kind::symlink || kind == Kind::generated) {
      file.content = text;
    } else {
      file.source = cache_ + "/" + path;
      file.size = text.size();
      file.sha256 = sha256_hex(text);
      write_file(file.source, text, 0444);
    }
    const std::string directory = path.substr(0, path.find('/'));
    if (directory != path &&
        std::find(plan_.directories.begin(), plan_.directories.end(), directory) == plan_.directories.end())
      plan_.directories.push_back(directory);
    plan_.files.push_back(std::move(file));
    return plan_.files.back();
  }
  PlannedFile& add_patched(const std::string& path, std::string_view text, Kind kind) {
    PlannedFile& file = add(path, text, kind);
    file.placeholder = "/placehold";
    PackagePath& said = plan_.packages[0].paths[path];
    said.path = path;
    said.sha256 = file.sha256;
    said.size = text.size();
    said.placeholder = file.placeholder;
    said.mode = kind == Kind::text ? PackagePath::Mode::text : PackagePath::Mode::binary;
    return file;
  }

  std::string hash(const std::string& prefix = "/new") { return tree_hash(stage_, prefix, 2).value(); }

  TemporaryDirectory directory_;
  std::string cache_ = directory_ / "cache", stage_ = directory_ / "stage";
  Plan plan_;
};

TEST_F(Execute, MakesEveryKindOfFile) {
  add("linked", "same");
  add("copied", "same too", Kind::copy);
  add("etc/text", "#!/placehold/bin/sh\n/placehold\n", Kind::text).placeholder = "/placehold";
  add("lib/binary", std::string("x\0/placehold/y\0z", 16), Kind::binary).placeholder = "/placehold";
  add("link", "etc/text", Kind::symlink);
  add("bin/made", "made\n", Kind::generated).executable = true;
  PlannedFile& script = add("bin/script", "#!python\npass\n", Kind::script);
  script.content = "/new/bin/python3.11";
  script.executable = true;

  std::size_t reported = 0;
  const auto executed = execute_plan(plan_, stage_, 2, [&](std::size_t done, std::size_t) { reported = done; });
  ASSERT_THAT(executed, Succeeds());
  EXPECT_EQ(reported, plan_.files.size());
  EXPECT_EQ(content(stage_ + "/linked"), "same");
  EXPECT_EQ(content(stage_ + "/copied"), "same too");
  EXPECT_EQ(content(stage_ + "/etc/text"), "#!/new/bin/sh\n/new\n");
  EXPECT_EQ(content(stage_ + "/lib/binary"), std::string("x\0/new/y\0\0\0\0\0\0\0z", 16));
  EXPECT_EQ(std::filesystem::read_symlink(stage_ + "/link"), "etc/text");
  EXPECT_EQ(content(stage_ + "/bin/made"), "made\n");
  EXPECT_EQ(content(stage_ + "/bin/script"), "#!/new/bin/python3.11\npass\n");
  for (std::size_t i = 0; i < plan_.files.size(); ++i) {
    const PlannedFile& file = plan_.files[i];
    if (file.kind == Kind::symlink) continue;
    EXPECT_EQ(executed->files[i].sha256, hash_file(stage_ + "/" + file.path).value()) << file.path;
    EXPECT_EQ(executed->files[i].size, std::filesystem::file_size(stage_ + "/" + file.path)) << file.path;
  }
  EXPECT_EQ(executed->linked + executed->copied, 2u);
}

TEST_F(Execute, SetsModesAndTimesWhateverTheUmask) {
  add("plain", "x", Kind::copy);
  add("tool", "x", Kind::copy).executable = true;
  add("link", "plain", Kind::symlink);
  const mode_t before = ::umask(0077);
  const auto executed = execute_plan(plan_, stage_, 1);
  ::umask(before);
  ASSERT_THAT(executed, Succeeds());
  ASSERT_THAT(seal(plan_, stage_), Succeeds());
  EXPECT_EQ(mode(stage_ + "/plain"), 0444u);
  EXPECT_EQ(mode(stage_ + "/tool"), 0555u);
  EXPECT_EQ(mode(stage_), 0555u);
  EXPECT_EQ(mode(stage_ + "/conda-meta"), 0555u);
  EXPECT_EQ(status(stage_ + "/plain").st_mtime, 1000);
  EXPECT_EQ(status(stage_ + "/link").st_mtime, 1000);
  EXPECT_EQ(status(stage_ + "/conda-meta").st_mtime, 2000);
}

TEST_F(Execute, SaysWhatIsMissingInTheCache) {
  std::filesystem::remove(add("gone", "x").source);
  const auto executed = execute_plan(plan_, stage_, 3);
  EXPECT_THAT(executed, FailsWith(ErrorKind::corrupt, "'" + cache_ + "/gone' is missing in the cache",
                                  "build again: the package is then unpacked anew"));
}

TEST_F(Execute, NeverWritesThroughWhatIsInTheStageAlready) {
  add("file", "new", Kind::copy);
  const std::string victim = directory_ / "victim";
  write_file(victim, "untouched");
  std::filesystem::create_symlink(victim, stage_ + "/file");
  EXPECT_FALSE(execute_plan(plan_, stage_, 1));
  EXPECT_EQ(content(victim), "untouched");
}

// ---- linking

TEST(LinkFile, FallsBackToACopyForOneFile) {
  const TemporaryDirectory directory;
  const std::string source = directory / "source", target = directory / "target";
  write_file(source, "content", 0444);
  const NewFile as{true, 1234};
  EXPECT_THAT(link_file(source, target, LinkMethod::hard_link, as), Holds(true));
  EXPECT_EQ(status(source).st_ino, status(target).st_ino);

  // Not on this file system.
  const std::string other = "/dev/shm/pinstep-test-" + std::to_string(::getpid());
  for (const LinkMethod method : {LinkMethod::hard_link, LinkMethod::reflink, LinkMethod::copy}) {
    ASSERT_THAT(link_file(source, other, method, as), Holds(false));
    EXPECT_EQ(content(other), "content");
    EXPECT_EQ(mode(other), 0555u);
    EXPECT_EQ(status(other).st_mtime, 1234);
    ::unlink(other.c_str());
  }
}

TEST(ProbeLinkMethod, TakesNoHardLinkToSomebodyElsesFile) {
  const TemporaryDirectory directory;
  const std::string source = directory / "source";
  write_file(source, "x", 0644);
  EXPECT_NE(probe_link_method(source, directory.path()), LinkMethod::copy);
  uid_t owner = 0;
  if (!give_to_ordinary_owner(source, owner) || owner == ::geteuid())
    GTEST_SKIP() << "files cannot be given away";
  EXPECT_NE(probe_link_method(source, directory.path()), LinkMethod::hard_link);
  EXPECT_FALSE(std::filesystem::exists(directory / ".link-trial"));
}

// ---- the tree hash

TEST_F(Execute, TreeHashSeesEveryChange) {
  add("file", "x", Kind::copy);
  add("link", "file", Kind::symlink);
  add("bin/tool", "#!/new/bin/python3.11\n", Kind::generated);
  add_patched("etc/text", "root=/placehold\n", Kind::text);
  add_patched("lib/binary", std::string("/placehold/y\0z", 14), Kind::binary);
  const auto executed = execute_plan(plan_, stage_, 1);
  ASSERT_THAT(executed, Succeeds());
  ASSERT_THAT(write_records(plan_, stage_, *executed), Succeeds());
  write_file(stage_ + "/conda-meta/pinstep/activation", "set CONDA_PREFIX /new");
  const std::string first = hash();

  const auto rewrite = [&](const std::string& path, const std::string& text) {
    const std::string full = stage_ + "/" + path, before = content(full);
    const mode_t was = mode(full);
    const auto put = [&](const std::string& bytes) {
      ::chmod(full.c_str(), 0644);
      write_file(full, bytes);
      ::chmod(full.c_str(), was);
    };
    put(text);
    EXPECT_NE(hash(), first) << path;
    put(before);
    EXPECT_EQ(hash(), first) << path;
  };
  rewrite("file", "y");
  rewrite("bin/tool", "#!/new/bin/python3.12\n");
  rewrite("etc/text", "root=/new/evil\n");
  rewrite("lib/binary", std::string("/new/z\0\0\0\0\0\0\0z", 14));
  rewrite("conda-meta/pinstep/activation", "set CONDA_PREFIX /other");
  std::string record = content(stage_ + "/conda-meta/p-1.0-0.json");
  rewrite("conda-meta/p-1.0-0.json", record.replace(record.find("binary"), 6, "text"));

  ::chmod((stage_ + "/file").c_str(), 0644);
  EXPECT_NE(hash(), first);
  ::chmod((stage_ + "/file").c_str(), 0444);
  EXPECT_EQ(hash(), first);
  std::filesystem::create_directory(stage_ + "/empty");
  EXPECT_NE(hash(), first);
  std::filesystem::remove(stage_ + "/empty");
  std::filesystem::remove(stage_ + "/link");
  std::filesystem::create_symlink("etc", stage_ + "/link");
  EXPECT_NE(hash(), first);
}

TEST_F(Execute, TreeHashLeavesPinstepsOwnNotesOut) {
  std::filesystem::create_directory(stage_ + "/conda-meta");
  const std::string first = hash();
  write_file(stage_ + "/conda-meta/pinstep/published", "x");
  EXPECT_EQ(hash(), first);
}

TEST_F(Execute, TreeHashRefusesARecordThatIsNone) {
  write_file(stage_ + "/conda-meta/x.json", "{}");
  const auto hashed = tree_hash(stage_, "/new", 1);
  EXPECT_THAT(hashed,
              FailsWith(ErrorKind::corrupt, "'" + stage_ + "/conda-meta/x.json' is not a package's record"));
}

}  // namespace
}  // namespace pinstep
