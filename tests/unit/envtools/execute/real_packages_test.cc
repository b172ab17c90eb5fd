// The 24 real packages of the test data as one environment.
#include <sys/wait.h>

#include "envtools/base/process.h"
#include "tests/unit/support/packages.h"

namespace pinstep {
namespace {

using namespace testing_support;

struct Trees {
  TemporaryDirectory directory;
  std::string cache = directory / "cache";
  std::string channel = testdata("conda/channel/linux-64");

  Trees() { std::filesystem::create_directory(cache); }

  // pip, setuptools and wheel need python, which the channel does not have.
  std::vector<CondaSource> sources() const {
    std::vector<CondaSource> all = all_unpacked(channel, cache);
    std::erase_if(all, [](const CondaSource& source) { return source.info.noarch == Noarch::python; });
    return all;
  }
  Plan plan(const std::string& prefix) const {
    PlanInput input;
    input.prefix = prefix;
    input.conda = sources();
    return make_plan(std::move(input)).value();
  }
  std::string stage(const std::string& name) const {
    std::filesystem::create_directories(directory / name);
    return directory / name;
  }
};

TEST(RealEnvironment, RunsWithTheNewPrefix) {
  const Trees trees;
  if (trees.channel.empty()) GTEST_SKIP() << "no test data: conda/channel";
  const std::string prefix = trees.stage("prefix");
  const auto hash = build_tree(trees.plan(prefix), prefix);
  ASSERT_THAT(hash, Succeeds());
  const auto said = [&](std::vector<std::string> argv) {
    argv[0] = prefix + "/bin/" + argv[0];
    return run({argv, {}}, 1 << 20).value().output;
  };
  EXPECT_THAT(said({"openssl", "version", "-d"}), testing::HasSubstr("OPENSSLDIR: \"" + prefix + "/ssl\""));
  EXPECT_THAT(said({"xz", "--version"}), testing::StartsWith("xz (XZ Utils) 5.2.6"));
  EXPECT_THAT(said({"infocmp", "-D"}), testing::HasSubstr(prefix + "/share/terminfo"));
}

TEST(RealEnvironment, HasOneTreeHashAtEveryPathForEveryThreadCount) {
  const Trees trees;
  if (trees.channel.empty()) GTEST_SKIP() << "no test data: conda/channel";
  const Plan plan = trees.plan("/store/e/0123456789abcdef");
  const Plan elsewhere = trees.plan("/a/much longer path/to/another/store/e/0123456789abcdef");
  const auto first = build_tree(plan, trees.stage("one"), 1);
  ASSERT_THAT(first, Succeeds());
  EXPECT_THAT(build_tree(elsewhere, trees.stage("two"), 4), Holds(*first));
  EXPECT_THAT(tree_hash(trees.stage("one"), plan.prefix, 2, known_digests(plan)), Holds(*first));
}

}  // namespace
}  // namespace pinstep
