// The small packages of the test data (section 2): each shows one rule.
#include <sys/stat.h>

#include "envtools/base/fd.h"
#include "tests/unit/support/packages.h"

namespace pinstep {
namespace {

using namespace testing_support;
using testing::HasSubstr;
using testing::IsEmpty;

class EdgeEnvironment : public testing::Test {
 protected:
  void SetUp() override {
    if (edge_.empty()) GTEST_SKIP() << "no test data: conda/edge";
    std::filesystem::create_directory(cache_);
  }

  Result<Plan> plan(const std::vector<std::string>& archives) {
    PlanInput input;
    input.prefix = "/store/e/0123456789abcdef";
    for (const std::string& archive : archives) input.conda.push_back(unpacked(edge_ + "/" + archive, cache_));
    return make_plan(std::move(input));
  }
  // Built in both orders of input, which must give the same tree; gives the directory.
  std::string build(std::vector<std::string> archives) {
    std::string hash, stage;
    for (int turn = 0; turn < 2; ++turn) {
      stage = directory_ / ("stage" + std::to_string(++stages_));
      std::filesystem::create_directory(stage);
      auto planned = plan(archives).value();
      const std::string built = build_tree(planned, stage).value();
      EXPECT_TRUE(hash.empty() || hash == built);
      hash = built;
      std::reverse(archives.begin(), archives.end());
    }
    return stage;
  }
  static std::string content(const std::string& path) { return read_file(path, 1 << 20).value().text; }

  TemporaryDirectory directory_;
  std::string cache_ = directory_ / "cache";
  std::string edge_ = testdata("conda/edge");
  int stages_ = 0;
};

TEST_F(EdgeEnvironment, TheFirstNameHasAFileThatTwoUnrelatedPackagesHave) {
  const std::string tree = build({"rattler-clobber/clobber-1-0.1.0-h4616a5c_0.tar.bz2",
                                  "rattler-clobber/clobber-2-0.1.0-h4616a5c_0.tar.bz2"});
  EXPECT_EQ(content(tree + "/clobber.txt"), "clobber-1\n");
  EXPECT_EQ(content(tree + "/another-clobber.txt"), "clobber-1\n");
}

TEST_F(EdgeEnvironment, ADependentHasItBeforeItsDependency) {
  EXPECT_EQ(content(build({"rattler-clobber/clobber-nested-1-0.1.0-h4616a5c_0.tar.bz2",
                           "rattler-clobber/clobber-nested-3-0.1.0-h4616a5c_0.tar.bz2"}) +
                    "/clobber/bobber/clobber.txt"),
            "clobber-1\n");
  const std::string tree = build({"rattler-clobber/clobber-with-symlink-a-0.1.0-h4616a5c_0.conda",
                                  "rattler-clobber/clobber-with-symlink-b-0.1.0-h4616a5c_0.conda"});
  EXPECT_EQ(std::filesystem::read_symlink(tree + "/lib/clobber.so"), "clobber-1.txt");
  EXPECT_TRUE(std::filesystem::exists(tree + "/lib/clobber-1.txt"));
  EXPECT_TRUE(std::filesystem::exists(tree + "/lib/clobber-2.txt"));
}

TEST_F(EdgeEnvironment, AFileKeepsADirectoryOut) {
  const std::string tree = build({"rattler-clobber/clobber-fd-1-0.1.0-h4616a5c_0.conda",
                                  "rattler-clobber/clobber-fd-2-0.1.0-h4616a5c_0.conda"});
  EXPECT_TRUE(std::filesystem::is_regular_file(tree + "/clobber"));
}

TEST_F(EdgeEnvironment, PythonPackagesAreLaidOutBeforeTheyAreCompared) {
  const std::string tree =
      build({"rattler-clobber/clobber-pynoarch-1-0.1.0-pyh4616a5c_0.tar.bz2",
             "rattler-clobber/clobber-pynoarch-2-0.1.0-pyh4616a5c_0.tar.bz2",
             "conda-recipes/python-3.99.99-0.conda", "conda-recipes/sample_noarch_python-1.0-py_0.conda"});
  const std::string site = "/lib/python3.99t/site-packages/";
  EXPECT_TRUE(std::filesystem::exists(tree + site + "clobber/clobber.py"));
  EXPECT_THAT(content(tree + "/conda-meta/clobber-pynoarch-1-0.1.0-pyh4616a5c_0.json"),
              HasSubstr("clobber/clobber.py"));
  EXPECT_EQ(content(tree + site + "sample.py"), "");
}

TEST_F(EdgeEnvironment, LinksInsideAnArchiveBecomeFiles) {
  const std::string tree =
      build({"rattler-sparse/symlink-test-1.0.0-0.conda", "rattler-sparse/dotslash-test-1.0.0-0.conda",
             "rattler-packages/empty-0.1.0-h4616a5c_0.conda"});
  for (const char* name : {"liblink.so", "libhard.so", "libreal.so.1"})
    EXPECT_THAT(read_file(tree + "/lib/" + name, 100, Links::followed).value().text,
                HasSubstr("real library bytes"));
  EXPECT_EQ(content(tree + "/lib/data.txt"), "dot slash payload\n");
}

TEST_F(EdgeEnvironment, BothFormatsGiveTheSameFiles) {
  const auto one = plan({"mock-both-formats/mock-2.0.0-py37_1000.conda"}).value();
  const auto other = plan({"mock-both-formats/mock-2.0.0-py37_1000.tar.bz2"}).value();
  ASSERT_EQ(one.files.size(), other.files.size());
  for (std::size_t i = 0; i < one.files.size(); ++i) {
    EXPECT_EQ(one.files[i].path, other.files[i].path);
    EXPECT_EQ(one.files[i].sha256, other.files[i].sha256);
    EXPECT_EQ(one.files[i].executable, other.files[i].executable);
  }
}

TEST_F(EdgeEnvironment, LinkScriptsAreNamedAndRefused) {
  const auto refused = plan({"rattler-link-scripts/link-scripts-0.1.0-h4616a5c_0.conda",
                             "conda-recipes/failing_post_link-1.0-0.conda"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, ErrorKind::refused);
  EXPECT_THAT(refused.error().cause, HasSubstr("'bin/.link-scripts-post-link.sh' of 'link-scripts'"));
  EXPECT_THAT(refused.error().cause, HasSubstr("of 'failing_post_link'"));
}

}  // namespace
}  // namespace pinstep
