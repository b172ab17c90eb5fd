#include "envtools/base/reserved.h"

#include <algorithm>
#include <array>

namespace pinstep {
namespace {

struct Reserved {
  std::string_view name;  // a '*' at its end: all that begin so
  std::string_view because;
};

constexpr std::string_view kDirectories = "it begins with the environment's directories";
constexpr std::string_view kActivation = "activation sets it";
constexpr std::string_view kSlurm = "it is Slurm's";
constexpr std::string_view kPinstep = "it is pinstep's own";
constexpr std::string_view kPmi = "the process manager sets it for each process";
constexpr std::string_view kRank = "each process of a step has its own";
constexpr std::string_view kStep = "it is the same for all processes of one step, and another in the next";
constexpr std::string_view kUser = "it is the user's";
constexpr std::string_view kShell = "it is the shell's own";

constexpr std::array<Reserved, 37> kReserved{{
    {"PATH", kDirectories},
    {"CONDA_PREFIX", kActivation},
    {"CONDA_DEFAULT_ENV", kActivation},
    {"CONDA_SHLVL", kActivation},
    {"SLURM_*", kSlurm},
    {"SLURMD_*", kSlurm},
    {"SBATCH_*", kSlurm},
    {"SALLOC_*", kSlurm},
    {"SPANK_*", kSlurm},
    {"PINSTEP_*", kPinstep},
    {"__pinstep_*", kPinstep},
    {"PMI_*", kPmi},
    {"PMI2_*", kPmi},
    {"PMIX_*", kPmi},
    {"RANK", kRank},
    {"LOCAL_RANK", kRank},
    {"GROUP_RANK", kRank},
    {"NODE_RANK", kRank},
    {"WORLD_SIZE", kStep},
    {"LOCAL_WORLD_SIZE", kStep},
    {"NNODES", kStep},
    {"MASTER_ADDR", kStep},
    {"MASTER_PORT", kStep},
    {"PET_*", kStep},
    {"HOME", kUser},
    {"USER", kUser},
    {"LOGNAME", kUser},
    {"SHELL", kUser},
    {"HOSTNAME", "it is the node's"},
    {"PWD", kShell},
    {"OLDPWD", kShell},
    {"SHLVL", kShell},
    {"_", kShell},
    {"IFS", kShell},
    {"BASHOPTS", kShell},
    {"SHELLOPTS", kShell},
    {"BASH_FUNC_*", kShell},
}};

// Beginnings within the above that are settings for everybody.
constexpr std::array<std::string_view, 1> kAllowed{"PMIX_MCA_"};

bool covers(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return name == pattern;
  pattern.remove_suffix(1);
  return name.starts_with(pattern);
}

}  // namespace

bool is_variable_name(std::string_view name) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !name.empty() && letter(name.front()) &&
         std::all_of(name.begin(), name.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

std::optional<std::string_view> reserved_because(std::string_view name) {
  for (const std::string_view beginning : kAllowed)
    if (name.starts_with(beginning)) return std::nullopt;
  const auto found = std::find_if(kReserved.begin(), kReserved.end(),
                                  [&](const Reserved& reserved) { return covers(reserved.name, name); });
  if (found == kReserved.end()) return std::nullopt;
  return found->because;
}

bool affects_every_program(std::string_view name) {
  constexpr std::array<std::string_view, 4> kNames{"LD_PRELOAD", "LD_AUDIT", "BASH_ENV", "ENV"};
  return std::find(kNames.begin(), kNames.end(), name) != kNames.end();
}

}  // namespace pinstep
