// The 24 real packages of the test data as one environment.
#include <sys/wait.h>

#include "envtools/base/process.h"
#include "tests/unit/support/packages.h"

namespace pinstep {
namespace {

using namespace testing_support;

// Unpacked once: it is most of the work.
class RealEnvironment : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    const std::string channel = testdata("conda/channel/linux-64");
    if (channel.empty()) return;
    directory_ = new TemporaryDirectory;
    std::filesystem::create_directory(*directory_ / "cache");
    sources_ = all_unpacked(channel, *directory_ / "cache");
    // pip, setuptools and wheel need python, which the channel does not have.
    std::erase_if(sources_, [](const CondaSource& source) { return source.info.noarch == Noarch::python; });
  }
  static void TearDownTestSuite() { delete directory_; }
  void SetUp() override {
    if (directory_ == nullptr) GTEST_SKIP() << "no test data: conda/channel";
  }

  static Plan plan(const std::string& prefix) {
    PlanInput input;
    input.prefix = prefix;
    input.conda = sources_;
    return make_plan(std::move(input)).value();
  }
  static std::string stage(const std::string& name) {
    std::filesystem::create_directories(*directory_ / name);
    return *directory_ / name;
  }

 private:
  static inline TemporaryDirectory* directory_ = nullptr;
  static inline std::vector<CondaSource> sources_;
};

TEST_F(RealEnvironment, RunsWithTheNewPrefix) {
  const std::string prefix = stage("prefix");
  const auto hash = build_tree(plan(prefix), prefix);
  ASSERT_THAT(hash, Succeeds());
  const auto said = [&](std::vector<std::string> argv) {
    argv[0] = prefix + "/bin/" + argv[0];
    return run({argv, {}}, 1 << 20).value().output;
  };
  EXPECT_THAT(said({"openssl", "version", "-d"}), testing::HasSubstr("OPENSSLDIR: \"" + prefix + "/ssl\""));
  EXPECT_THAT(said({"xz", "--version"}), testing::StartsWith("xz (XZ Utils) 5.2.6"));
  EXPECT_THAT(said({"infocmp", "-D"}), testing::HasSubstr(prefix + "/share/terminfo"));
}

TEST_F(RealEnvironment, HasOneTreeHashAtEveryPathForEveryThreadCount) {
  const Plan here = plan("/store/e/0123456789abcdef");
  const Plan elsewhere = plan("/a/much longer path/to/another/store/e/0123456789abcdef");
  const auto first = build_tree(here, stage("one"), 1);
  ASSERT_THAT(first, Succeeds());
  EXPECT_THAT(build_tree(elsewhere, stage("two"), 4), Holds(*first));
  EXPECT_THAT(tree_hash(stage("one"), here.prefix, 2, known_digests(here)), Holds(*first));
}

}  // namespace
}  // namespace pinstep
