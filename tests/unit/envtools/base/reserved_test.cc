#include "envtools/base/reserved.h"

#include <gtest/gtest.h>

namespace pinstep {
namespace {

TEST(Reserved, IsWhatBelongsToJobStepAndUser) {
  for (const char* name : {"PATH",          "CONDA_PREFIX",
                           "SLURM_JOB_ID",  "SLURM_SPANK_PINSTEP_ENV",
                           "SPANK_X",       "SBATCH_PARTITION",
                           "PINSTEP_STORE", "PINSTEP_STEP_ID",
                           "PMI_RANK",      "PMIX_RANK",
                           "RANK",          "WORLD_SIZE",
                           "LOCAL_RANK",    "MASTER_ADDR",
                           "MASTER_PORT",   "PET_NNODES",
                           "HOME",          "USER",
                           "LOGNAME",       "SHELL",
                           "PWD",           "BASHOPTS"})
    EXPECT_TRUE(reserved_because(name)) << name;
}

TEST(Reserved, IsNothingElse) {
  for (const char* name :
       {"", "A", "RANKS", "PATHS", "SLURM", "LD_PRELOAD", "LD_LIBRARY_PATH", "PYTHONPATH", "TMPDIR", "LANG",
        "PMIX_MCA_gds", "OMPI_MCA_pml", "NCCL_DEBUG", "CONDA_OVERRIDE_CUDA"})
    EXPECT_FALSE(reserved_because(name)) << name;
}

TEST(Reserved, NamesVariablesAsShellsDo) {
  for (const char* name : {"A", "_a", "a1"}) EXPECT_TRUE(is_variable_name(name)) << name;
  for (const char* name : {"", "1a", "A B", "A=", "A\n", "BASH_FUNC_ls%%", "\xc3\xbc"})
    EXPECT_FALSE(is_variable_name(name)) << name;
}

}  // namespace
}  // namespace pinstep
