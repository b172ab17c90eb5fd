#include "plugin/options.h"

#include <gtest/gtest.h>

#include <vector>

namespace pinstep {
namespace {

TEST(EnvironmentForm, IsTheVariableThatSlurmSets) {
  EXPECT_EQ(environment_form("env-spec"), "SLURM_SPANK__SLURM_SPANK_OPTION_pinstep_env_spec");
  EXPECT_EQ(environment_form("env-gpu-share"), "SLURM_SPANK__SLURM_SPANK_OPTION_pinstep_env_gpu_share");
}

TEST(OptionUse, TellsATypedOptionFromAnInheritedOne) {
  const Environment inside({{environment_form(kEnvSpecOption), "/job"}, {"PATH", "/bin"}});
  const Environment outside;
  OptionUse never;
  EXPECT_FALSE(never.is_typed(outside, kEnvSpecOption));
  EXPECT_FALSE(never.is_typed(inside, kEnvSpecOption));
  EXPECT_EQ(never.value(), std::nullopt);

  OptionUse once;
  once.called("/x");
  EXPECT_TRUE(once.is_typed(outside, kEnvSpecOption));
  EXPECT_FALSE(once.is_typed(inside, kEnvSpecOption));
  EXPECT_FALSE(once.is_typed(inside, kEnvSpecOption)) << "asking changes nothing";

  OptionUse twice;
  twice.called("/job");
  twice.called("/typed");
  EXPECT_TRUE(twice.is_typed(inside, kEnvSpecOption));
  EXPECT_EQ(twice.value(), "/typed");
}

TEST(OptionUse, IsTypedAlsoWithTheValueThatWasInherited) {
  OptionUse use;
  use.called("/job");
  use.called("/job");
  EXPECT_TRUE(use.is_typed(Environment({{environment_form(kEnvSpecOption), "/job"}, {"PATH", "/bin"}}),
                           kEnvSpecOption));
}

// srun A : B calls A, submits, calls B; a job script with two components calls A, submits, calls B and A.
TEST(OptionUse, RemembersAnotherComponentsValueWhateverComesLast) {
  for (const std::vector<const char*>& later : {std::vector{"/b"}, std::vector{"/b", "/a"}}) {
    OptionUse use;
    use.called("/a");
    use.submitted();
    for (const char* value : later) use.called(value);
    EXPECT_EQ(use.value(), "/a");
    EXPECT_EQ(use.other_component(), "/b");
  }
  OptionUse same;
  same.called("/a");
  same.submitted();
  same.called("/a");
  EXPECT_EQ(same.other_component(), std::nullopt);
}

}  // namespace
}  // namespace pinstep
