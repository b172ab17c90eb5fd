// Every environment variable that pinstep reads or writes, in one place.
//
// Inputs are PINSTEP_<KEY> for the keys of config/settings.h. What a step tells is PINSTEP_STEP_*: it is
// never read as configuration, and it is removed where a job's environment enters (activation/enter.h).
#pragma once

#include <array>
#include <string_view>

namespace pinstep::variable {

// -- travels with a job or step --
inline constexpr std::string_view kPin = "SLURM_SPANK_PINSTEP_ENV";  // the pin (pin/pin.h)
// spank_job_control_setenv adds the SLURM_SPANK_ part itself.
inline constexpr std::string_view kPinJobControl = "PINSTEP_ENV";
inline constexpr std::string_view kOffer = "SLURM_PINSTEP_OFFER";  // srun's node, addresses, port

// -- what a step tells --
inline constexpr std::string_view kStepPrefixOfNames = "PINSTEP_STEP_";
inline constexpr std::string_view kStepId = "PINSTEP_STEP_ID";          // <job>.<step> that was prepared
inline constexpr std::string_view kStepPrefix = "PINSTEP_STEP_PREFIX";  // the active prefix
inline constexpr std::string_view kStepEnv = "PINSTEP_STEP_ENV";        // environment id, or '-' (not pinned)
inline constexpr std::string_view kStepPlugin = "PINSTEP_STEP_PLUGIN";  // the plugin's version, if it prepared
inline constexpr std::string_view kStepUndo = "PINSTEP_STEP_UNDO";      // how to leave the prefix again
inline constexpr std::string_view kStepSet = "PINSTEP_STEP_SET";        // rendezvous values that are ours
inline constexpr std::string_view kStepPlace = "PINSTEP_STEP_PLACE";    // values of pinstep-launch that are ours

struct Description {
  std::string_view name;
  std::string_view set_by;
  std::string_view meaning;
};

// For the manual page, which a test compares with this table.
inline constexpr std::array<Description, 9> kAll{{
    {kPin, "sbatch, salloc, srun", "the pin: what the job's steps run in"},
    {kOffer, "srun", "node, addresses and held port srun offers to its step"},
    {kStepId, "pinstep", "the job and step whose environment was prepared"},
    {kStepPrefix, "pinstep", "the active prefix"},
    {kStepEnv, "pinstep", "the environment id, or - for a prefix that is not pinned"},
    {kStepPlugin, "pinstep", "the version of the plugin, where it prepared the step"},
    {kStepUndo, "pinstep", "what leaving the prefix has to take back"},
    {kStepSet, "pinstep", "the rendezvous variables set by pinstep for this step"},
    {kStepPlace, "pinstep-launch", "the variables of the rank's place set by pinstep-launch"},
}};

}  // namespace pinstep::variable
