// What Slurm tells a task about its step, read from the environment and checked. Nothing here asks a
// daemon, opens a file or looks up a name.
//
// Sources of the rules: srun(1) OUTPUT ENVIRONMENT VARIABLES, design facts 7-9 and NOTES.md beside this
// file (what was measured).
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"

namespace pinstep {

struct StepId {
  enum class Kind { tasks, batch, interactive, external };

  std::uint32_t job = 0;
  Kind kind = Kind::tasks;
  std::uint32_t number = 0;  // of a step with tasks; 0 for the others

  // From Slurm's numbers, where the largest step numbers have a meaning of their own (slurm.h).
  static StepId from(std::uint32_t job, std::uint32_t step);
  std::string text() const;  // "12.0", "12.batch": as scancel takes and squeue shows it
  bool operator==(const StepId&) const = default;
};

// Where a step runs: known in slurmstepd before there are tasks.
struct StepPlace {
  StepId id;
  std::string node;                        // this node's Slurm name, empty before the tasks
  std::uint32_t nodes = 1;                 // of the step
  std::optional<std::string> master_node;  // of global rank 0; nothing if no node but that one can know
  // Heterogeneous jobs: the job id of the component that rank 0 belongs to; else nothing.
  std::optional<std::uint32_t> master_component;
};

// Before the tasks, PMIX_* and SLURMD_NODENAME are not yet those of this very step and node, but what srun
// had in its own environment.
enum class Moment { before_tasks, in_task };

// `step` is Slurm's step number where the caller has it from a better source than SLURM_STEP_ID, which a
// batch script submitted from inside a step inherits from that step. Errors: invalid (not inside a job,
// or Slurm's variables contradict each other).
Result<StepPlace> read_step_place(const Environment& environment, Moment moment,
                                  std::optional<std::uint32_t> step = {});

// The job ids of a heterogeneous job's components; empty for any other job.
std::vector<std::uint32_t> component_jobs(const Environment& environment);

// One task's place in its step. Ranks count over all components of a heterogeneous step.
struct StepFacts {
  StepPlace place;
  std::uint32_t rank = 0;
  std::uint32_t size = 1;
  std::uint32_t local_rank = 0;
  std::uint32_t local_size = 1;
  std::uint32_t node_rank = 0;  // 0 is the master node, the others in Slurm's order
  // Tasks per node if it is the same on all nodes of the step.
  std::optional<std::uint32_t> tasks_on_each_node;

  bool is_single_node() const { return place.nodes == 1; }
};

// For a batch or interactive step the answer is one task on one node. `step` and errors as above.
Result<StepFacts> read_step_facts(const Environment& environment, std::optional<std::uint32_t> step = {});

// The same for a process that a task has started as one of this node's ranks, and told its place: torchrun,
// mpirun and mpiexec, DeepSpeed. rank and size stay the task's where it was not told them. Errors: those above,
// invalid (it was told nothing), conflict (several tasks of this node started ranks).
Result<StepFacts> read_child_facts(const Environment& environment);

// What is known of the task where read_step_facts() has failed: enough to let one task of the step speak.
StepFacts partial_step_facts(const Environment& environment);

// "2(x3),1" as 2,2,2,1. Errors: invalid.
Result<std::vector<std::uint32_t>> expand_tasks_per_node(std::string_view text);

}  // namespace pinstep
