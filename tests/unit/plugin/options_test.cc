#include "plugin/options.h"

#include <gtest/gtest.h>

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

}  // namespace
}  // namespace pinstep
