#include "launcher/worker/check/facts.h"

#include <gtest/gtest.h>

namespace pinstep::worker {
namespace {

TEST(Facts, MemoryThatIsAvailable) {
  EXPECT_EQ(available_of("MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:   24 kB\nBuffers: 9 kB\n"),
            24576U);
  EXPECT_EQ(available_of("MemTotal: 1 kB\n"), 0U);
}

TEST(Facts, DriverOfOldAndNewModules) {
  EXPECT_EQ(
      driver_of("NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.129.03  Thu Oct 19 18:56:32 UTC 2023\n"
                "GCC version:  gcc version 12.3.0\n"),
      "535.129.03");
  EXPECT_EQ(driver_of("NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build\n"),
            "570.86.15");
  EXPECT_EQ(driver_of(""), "");
}

TEST(Facts, NcclVersionsOfBothKinds) {
  EXPECT_EQ(nccl_version(2804), "2.8.4");
  EXPECT_EQ(nccl_version(22809), "2.28.9");
}

TEST(Facts, EqualNamesAreCounted) {
  EXPECT_EQ(counted({}), "");
  EXPECT_EQ(counted({"B", "A", "B"}), "1 x A, 2 x B");
}

TEST(Facts, TheMemoryCgroupOfBothVersions) {
  EXPECT_EQ(memory_cgroup_of("0::/system.slice/slurmstepd.scope/job_1\n"),
            "/system.slice/slurmstepd.scope/job_1");
  EXPECT_EQ(memory_cgroup_of("5:cpu,cpuacct:/x\n4:memory:/slurm/uid_1/job_2\n0::/\n"),
            "/memory/slurm/uid_1/job_2");
  EXPECT_EQ(memory_cgroup_of(""), "");
}

TEST(Facts, ThisNodeHasSome) {
  const Facts facts = look_at_node(Environment(Environment::Variables{{"PINSTEP_STEP_ENV", "abc"}}));
  EXPECT_EQ(facts.environment, "abc");
  EXPECT_GT(facts.memory, 1U << 20);
  EXPECT_GT(facts.open_files, 2U);
  EXPECT_FALSE(facts.version.empty());
}

}  // namespace
}  // namespace pinstep::worker
