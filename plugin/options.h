// The plugin's options for srun, sbatch and salloc, as they were given.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "envtools/base/environment.h"

namespace pinstep {

// One option's story in this process. Slurm calls back for the environment form first (an option that an
// enclosing sbatch or salloc was given), then for what stands on the command line or in #SBATCH lines.
class OptionUse {
 public:
  void called(std::string_view value);
  const std::optional<std::string>& value() const { return value_; }

  // From here on `value` is what the command was submitted with; a later call with another one is an
  // other_component()'s. (For a job script with two components Slurm calls back A, then B, then A again.)
  void submitted() { is_submitted_ = true; }
  const std::optional<std::string>& other_component() const { return other_component_; }

  // Typed, as opposed to inherited: there was more than the one callback of the environment form.
  bool is_typed(const Environment& environment, std::string_view option) const;

 private:
  int calls_ = 0;
  bool is_submitted_ = false;
  std::optional<std::string> value_;
  std::optional<std::string> other_component_;
};

// The variable that carries an option from sbatch or salloc to the commands inside the job.
std::string environment_form(std::string_view option);

inline constexpr std::string_view kPluginName = "pinstep";
inline constexpr std::string_view kEnvSpecOption = "env-spec";
inline constexpr std::string_view kEnvLockOption = "env-lock";
inline constexpr std::string_view kEnvBuildOption = "env-build";
inline constexpr std::string_view kRendezvousOption = "env-rendezvous";
inline constexpr std::string_view kGpuShareOption = "env-gpu-share";

}  // namespace pinstep
