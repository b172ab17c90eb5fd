// Environments as Slurm makes them for the tasks of a step.
#pragma once

#include <string>

#include "envtools/base/environment.h"

namespace pinstep::testing_support {

// Changes some variables; nullptr unsets one.
struct Change {
  const char* name;
  const char* value;
};

inline Environment changed(Environment environment, std::initializer_list<Change> changes) {
  for (const auto& [name, value] : changes) {
    if (value == nullptr)
      environment.unset(name);
    else
      environment.set(name, value);
  }
  return environment;
}

// Rank 0 of step 12.3: n0 and n1 with two tasks each.
inline Environment task_environment() {
  return Environment({{"SLURM_JOB_ID", "12"},
                      {"SLURM_STEP_ID", "3"},
                      {"SLURMD_NODENAME", "n0"},
                      {"SLURM_STEP_NODELIST", "n[0-1]"},
                      {"SLURM_STEP_NUM_NODES", "2"},
                      {"SLURM_STEP_NUM_TASKS", "4"},
                      {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                      {"SLURM_DISTRIBUTION", "block"},
                      {"SLURM_NODEID", "0"},
                      {"SLURM_PROCID", "0"},
                      {"SLURM_LOCALID", "0"},
                      {"SLURM_GTIDS", "0,1"}});
}

}  // namespace pinstep::testing_support
