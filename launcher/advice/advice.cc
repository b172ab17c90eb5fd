#include "launcher/advice/advice.h"

#include "envtools/base/text.h"

namespace pinstep {
namespace {

// Below this part of the node's cores for each GPU a rank's data loading is likely to hold up its GPU.
constexpr std::uint32_t kEnough = 4;  // as 1/4

std::string cores(std::uint32_t number) { return std::to_string(number) + (number == 1 ? " core" : " cores"); }

}  // namespace

std::optional<SlurmVersion> SlurmVersion::parse(std::string_view text) {
  const auto halves = split_once(trim(text), ' ');
  if (!halves) return std::nullopt;
  const auto numbers = split(halves->after, '.');
  if (numbers.size() < 2) return std::nullopt;
  const auto year = parse_number<unsigned>(numbers[0]);
  const auto month = parse_number<unsigned>(numbers[1]);
  if (!year || !month) return std::nullopt;
  return SlurmVersion{*year, *month};
}

std::string isolation_advice(std::optional<SlurmVersion> slurm, bool with_plugin) {
  std::string advice =
      "each rank can open its own GPU only, as cuda:0, so that peer-to-peer transfers may fail (";
  if (with_plugin) advice += "sbatch --env-gpu-share or ";
  if (slurm >= SlurmVersion{23, 11}) advice += "srun --gres-flags=allow-task-sharing or ";
  return advice + "SLURM_GPU_BIND=none in srun's environment lets them reach each other's)";
}

std::optional<std::string> starvation_advice(const NodeMap& map, const Environment& environment) {
  if (map.node_gpus == 0) return std::nullopt;
  const std::uint32_t share = map.node_cores / map.node_gpus;
  for (const MappedRank& rank : map.ranks) {
    const auto gpus = static_cast<std::uint32_t>(rank.gpus.size());
    if (gpus == 0 || rank.pus.empty() || rank.cores * kEnough > share * gpus) continue;
    std::string text = "a rank has " + cores(rank.cores) + " for its " +
                       (gpus == 1 ? "GPU" : std::to_string(gpus) + " GPUs") + "; the node has " +
                       std::to_string(share) + " per GPU: ";
    const std::string wanted = "--cpus-per-task=" + std::to_string(share * gpus * map.threads_per_core);
    // From 22.05 on srun does not take it from sbatch.
    const auto of_job = parse_number<std::uint32_t>(environment.get("SLURM_CPUS_PER_TASK").value_or(""));
    if (of_job && *of_job > rank.pus.count())
      return text + "srun does not take sbatch's --cpus-per-task=" + std::to_string(*of_job) +
             ", give it to srun";
    return text + "add " + wanted;
  }
  return std::nullopt;
}

}  // namespace pinstep
