#include "plugin/slurm_api.h"

#include <errno.h>  // program_invocation_short_name

extern "C" {
#include <slurm/slurm.h>
}

#include "envtools/base/variables.h"

namespace pinstep {
namespace {

Result<void> check(spank_err_t code, std::string_view call, std::string_view name) {
  if (code == ESPANK_SUCCESS) return {};
  return fail(ErrorKind::os, "Slurm refuses " + std::string(call) + " of '" + std::string(name) +
                                 "': " + spank_strerror(code));
}

std::optional<std::uint32_t> number_item(spank_t handle, spank_item_t item) {
  std::uint32_t value = 0;
  if (spank_get_item(handle, item, &value) != ESPANK_SUCCESS) return std::nullopt;
  return value;
}

}  // namespace

Context SlurmHost::context() const {
  switch (spank_context()) {
    case S_CTX_LOCAL:
      return Context::srun;
    case S_CTX_ALLOCATOR:  // Slurm does not say which
      return std::string_view(program_invocation_short_name) == "salloc" ? Context::salloc : Context::sbatch;
    case S_CTX_REMOTE:
      return Context::step;
    default:
      return Context::other;
  }
}

Result<void> SlurmHost::set_for_job(std::string_view name, std::string_view value) {
  return check(spank_job_control_setenv(handle_, std::string(name).c_str(), std::string(value).c_str(), 1),
               "job_control_setenv", name);
}

// Failure means that the variable was not set, which is what is wanted.
void SlurmHost::unset_for_job(std::string_view name) {
  spank_job_control_unsetenv(handle_, std::string(name).c_str());
}

bool SlurmHost::step_has_pin() const noexcept {
  char only_an_empty_one[1];
  return spank_getenv(handle_, variable::kPin.data(), only_an_empty_one, sizeof only_an_empty_one) ==
         ESPANK_NOSPACE;
}

// The array is Slurm's and changes with every setenv: it is copied at once.
Environment SlurmHost::step_environment() const {
  char** entries = nullptr;
  if (spank_get_item(handle_, S_JOB_ENV, &entries) != ESPANK_SUCCESS) return {};
  return Environment::from(entries);
}

Result<void> SlurmHost::set_in_task(std::string_view name, std::string_view value) {
  return check(spank_setenv(handle_, std::string(name).c_str(), std::string(value).c_str(), 1), "setenv", name);
}

Result<void> SlurmHost::unset_in_task(std::string_view name) {
  return check(spank_unsetenv(handle_, std::string(name).c_str()), "unsetenv", name);
}

std::vector<std::string> SlurmHost::step_argv() const {
  int count = 0;
  char** words = nullptr;
  if (spank_get_item(handle_, S_JOB_ARGV, &count, &words) != ESPANK_SUCCESS || words == nullptr) return {};
  std::vector<std::string> argv;
  for (int i = 0; i < count && words[i] != nullptr; ++i) argv.emplace_back(words[i]);
  return argv;
}

std::optional<std::uint32_t> SlurmHost::step_number() const { return number_item(handle_, S_JOB_STEPID); }

std::optional<std::uint32_t> SlurmHost::job_id() const { return number_item(handle_, S_JOB_ID); }

// Slurm has no word for the node's own name here, and needs none: what counts is who runs on it.
bool SlurmHost::has_first_rank() const {
  constexpr std::uint32_t kFirstOfThisNode = 0;
  std::uint32_t rank = 0;
  return spank_get_item(handle_, S_JOB_LOCAL_TO_GLOBAL_ID, kFirstOfThisNode, &rank) == ESPANK_SUCCESS &&
         rank == 0;
}

void SlurmHost::log(std::string_view line) const { slurm_error("%s", std::string(line).c_str()); }

}  // namespace pinstep
