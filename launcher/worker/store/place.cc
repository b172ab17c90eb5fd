#include "launcher/worker/store/place.h"

#include "envtools/base/text.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {
namespace {

constexpr std::string_view kNames[] = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
constexpr const char* kHint = "in a job, start the ranks with: srun pinstep-launch -- pinstep-worker train";

// The variable's number; `fallback` where it is not set and there is one.
template <class Unsigned>
Result<void> read(const Environment& environment, std::string_view name, Unsigned& value, bool is_needed) {
  const auto text = environment.get(name);
  if (!text && !is_needed) return {};
  const auto number = parse_number<Unsigned>(text.value_or(""));
  if (!number)
    return fail(ErrorKind::invalid,
                text ? std::string(name) + "='" + printable(*text) + "' is no number"
                     : std::string(name) + " is not set",
                kHint);
  value = *number;
  return {};
}

bool is_one_of_several(const Environment& environment) {
  const auto tasks = environment.get("SLURM_STEP_NUM_TASKS");
  return environment.has("SLURM_PROCID") && tasks && *tasks != "1";
}

tl::unexpected<Error> contradiction(std::string_view rank, std::uint32_t r, std::string_view size,
                                    std::uint32_t s) {
  return fail(ErrorKind::conflict, std::string(rank) + "=" + std::to_string(r) + " contradicts " +
                                       std::string(size) + "=" + std::to_string(s));
}

}  // namespace

std::string cookie_of(const Environment& environment) {
  const auto het = environment.get("SLURM_HET_JOB_ID");
  const auto job = het ? het : environment.get("SLURM_JOB_ID");
  if (!job) return "";
  return std::string(*job) + "." + std::string(environment.get("SLURM_STEP_ID").value_or("-"));
}

bool prefers_pmix(const Environment& environment) {
  return environment.has("PMIX_NAMESPACE") && !environment.has("MASTER_ADDR");
}

Result<Place> place_from_environment(const Environment& environment) {
  Place place;
  place.cookie = cookie_of(environment);
  bool is_any_set = false;
  for (const std::string_view name : kNames) is_any_set |= environment.has(name);
  if (!is_any_set) {
    if (is_one_of_several(environment))
      return fail(ErrorKind::invalid, "one of several tasks, and RANK is not set", kHint);
    return place;
  }
  Meeting meeting;
  PINSTEP_TRY(read(environment, "RANK", place.rank, true));
  PINSTEP_TRY(read(environment, "WORLD_SIZE", place.size, true));
  PINSTEP_TRY(read(environment, "LOCAL_RANK", place.local_rank, false));
  place.local_size = place.size;  // careful: as if all shared this node
  PINSTEP_TRY(read(environment, "LOCAL_WORLD_SIZE", place.local_size, false));
  if (place.rank >= place.size) return contradiction("RANK", place.rank, "WORLD_SIZE", place.size);
  if (place.local_rank >= place.local_size)
    return contradiction("LOCAL_RANK", place.local_rank, "LOCAL_WORLD_SIZE", place.local_size);
  if (place.size == 1) return place;
  PINSTEP_TRY(read(environment, "MASTER_PORT", meeting.port, true));
  const auto host = environment.get("MASTER_ADDR");
  if (!host || host->empty()) return fail(ErrorKind::invalid, "MASTER_ADDR is not set", kHint);
  meeting.hosts = {std::string(*host)};
  place.meeting = meeting;
  return place;
}

}  // namespace pinstep::worker
