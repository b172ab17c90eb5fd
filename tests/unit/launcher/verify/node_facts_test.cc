#include "launcher/verify/node_facts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/support/files.h"

namespace pinstep::verify {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::TemporaryDirectory;
using testing_support::write_file;

TEST(Driver, VersionIsFoundInTheKernelsText) {
  const struct {
    const char* text;
    const char* version;
  } cases[] = {
      {"NVRM version: NVIDIA UNIX x86_64 Kernel Module  535.104.05  Sat Aug 19 01:15:15 UTC 2023\nGCC version: "
       " "
       "gcc version 12.2.0\n",
       "535.104.05"},
      {"NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  570.86.15  Release Build  (dvs-builder@U16)\n",
       "570.86.15"},
      {"NVRM version: NVIDIA UNIX\nGCC version:  gcc version 12.2.0\n", ""},
      {"1 2. .3 4.5a", ""},
      {"", ""},
  };
  for (const auto& one : cases) EXPECT_EQ(driver_version_in(one.text), one.version) << one.text;
}

TEST(Driver, VersionComesFromTheModuleFirst) {
  const TemporaryDirectory top;
  const std::string sys = top.path() + "/sys", proc = top.path() + "/proc";
  EXPECT_EQ(driver_version(sys, proc), "");
  write_file(proc + "/driver/nvidia/version", "NVRM version: NVIDIA  535.104.05  Sat\n");
  EXPECT_EQ(driver_version(sys, proc), "535.104.05");
  write_file(sys + "/module/nvidia/version", "550.54.14\n");
  EXPECT_EQ(driver_version(sys, proc), "550.54.14");
}

TEST(Nccl, NumbersAreReadAsItsHeaderWritesThem) {
  EXPECT_EQ(nccl_version_text(22809), "2.28.9");
  EXPECT_EQ(nccl_version_text(21805), "2.18.5");
  EXPECT_EQ(nccl_version_text(20900), "2.9.0");
  EXPECT_EQ(nccl_version_text(2804), "2.8.4");
}

TEST(Nccl, TheEnvironmentsOwnComeFirst) {
  const TemporaryDirectory top;
  const std::string prefix = top.path() + "/a [b]*";
  const std::string wheel = prefix + "/lib/python3.11/site-packages/nvidia/nccl/lib";
  Environment environment;
  environment.set("CONDA_PREFIX", prefix);
  EXPECT_THAT(nccl_of_environment(environment), IsEmpty());
  write_file(wheel + "/libnccl.so.2", "");
  EXPECT_THAT(nccl_of_environment(environment), ElementsAre(wheel + "/libnccl.so.2"));
  write_file(prefix + "/lib/libnccl.so.2", "");
  EXPECT_THAT(nccl_of_environment(environment),
              ElementsAre(prefix + "/lib/libnccl.so.2", wheel + "/libnccl.so.2"));
  environment.set("CONDA_PREFIX", "relative");
  EXPECT_THAT(nccl_of_environment(environment), IsEmpty());
}

}  // namespace
}  // namespace pinstep::verify
