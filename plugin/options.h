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
  void called(std::string_view value) {
    ++calls_;
    value_ = value;
  }
  const std::optional<std::string>& value() const { return value_; }

  // Typed, as opposed to inherited: there was more than the one callback of the environment form.
  bool is_typed(const Environment& environment, std::string_view option) const;

 private:
  int calls_ = 0;
  std::optional<std::string> value_;
};

// The variable that carries an option from sbatch or salloc to the commands inside the job.
std::string environment_form(std::string_view option);

inline constexpr std::string_view kPluginName = "pinstep";
inline constexpr std::string_view kEnvSpecOption = "env-spec";
inline constexpr std::string_view kGpuShareOption = "env-gpu-share";

}  // namespace pinstep
