// What a step may use of its node, from what Slurm and the kernel tell each of its ranks. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "envtools/base/environment.h"
#include "launcher/machine/bits.h"

namespace pinstep {

// ---- processors

struct StepCpus {
  std::optional<Bits> cpus;  // the step's on this node; nothing: not known, or not ours to deal out
  std::string why_not;
  bool is_users_choice = false;  // why they are not ours
};

// `affinity` is this task's. Slurm's automatic binding gives each task a mask and all of them the list of
// masks: together these are the step's processors. A binding that the user chose stays as it is, where it can
// be told from an automatic one; a rank that is alone on its node has the processors of either.
StepCpus step_cpus(const Environment& environment, const Bits& affinity, std::uint32_t local_size);

// ---- GPUs

// What one rank knows of its GPUs.
struct GpuReport {
  Bits opens;                          // device numbers
  std::optional<Bits> given;           // by Slurm, as it counts
  std::optional<std::string> visible;  // CUDA_VISIBLE_DEVICES where the user has set it

  std::string text() const;  // "0-3 0 -", "0-3 - =GPU-1,GPU-2"
  static std::optional<GpuReport> parse(std::string_view text);
  bool operator==(const GpuReport&) const = default;
};

// `name`, one of CUDA_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES and their like, as Slurm has set it, not the user:
// what SLURM_STEP_GPUS says, or as many indices from 0 on. Another order or choice is the user's, and so are
// names that are no indices: Slurm's own mean the same.
bool is_slurms_choice(const Environment& environment, std::string_view name);

GpuReport gpu_report(const Environment& environment, const Bits& opens);

// Of this node, from the job: SLURM_GPUS_ON_NODE, and SLURM_JOB_GPUS where it was not inherited from another
// node.
struct NodeGpus {
  std::optional<std::uint32_t> count;
  std::optional<Bits> numbers;
};
NodeGpus node_gpus(const Environment& environment);

struct StepGpus {
  Bits gpus;                          // of the step, by device number; none under isolation
  std::vector<Bits> of_rank;          // under isolation: what each rank can open
  std::vector<std::string> visible;   // what each rank's user has chosen of `opens`; empty: nothing
  Bits opens;                         // what all ranks can open
  std::optional<std::uint32_t> each;  // where Slurm gave each rank its own, so many
  std::string why_none;               // where GPUs are there and none is used
  bool is_isolated() const { return !of_rank.empty(); }
};

// `reports` of all ranks of the node in their order, at least one.
StepGpus step_gpus(const std::vector<GpuReport>& reports, const NodeGpus& node);

}  // namespace pinstep
