// What the plugin needs of Slurm. slurm_api.h is the real one; tests have one that refuses on demand.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"

namespace pinstep {

enum class Context {
  srun,
  sbatch,
  salloc,
  step,   // slurmstepd
  other,  // slurmd, prolog, epilog, scrontab's parser: nothing to do there
};

class Host {
 public:
  virtual ~Host() = default;

  virtual Context context() const = 0;

  // -- sbatch, salloc --
  // A variable of the job's environment, also with --export=NONE; Slurm puts SLURM_SPANK_ in front.
  virtual Result<void> set_for_job(std::string_view name, std::string_view value) = 0;
  virtual void unset_for_job(std::string_view name) = 0;

  // -- slurmstepd --
  // Whether the step has a pin at all: asked first, so that a step without one costs nothing.
  virtual bool step_has_pin() const noexcept = 0;
  // The step's environment, in task_init this task's.
  virtual Environment step_environment() const = 0;
  virtual Result<void> set_in_task(std::string_view name, std::string_view value) = 0;
  virtual Result<void> unset_in_task(std::string_view name) = 0;
  virtual std::vector<std::string> step_argv() const = 0;
  virtual std::optional<std::uint32_t> step_number() const = 0;
  virtual std::optional<std::uint32_t> job_id() const = 0;  // of this component
  // Whether the first rank of this component runs on this node: known before there are tasks.
  virtual bool has_first_rank() const = 0;

  // To slurmd's log in slurmstepd, to standard error elsewhere.
  virtual void log(std::string_view line) const = 0;
};

}  // namespace pinstep
