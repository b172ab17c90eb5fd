#include "launcher/worker/train/requeue.h"

#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "pinstep_config.h"

namespace pinstep::worker {

Result<void> requeue_job(const Environment& environment) {
  const auto job = environment.get("SLURM_JOB_ID");
  if (!job) return fail(ErrorKind::invalid, "there is no job to queue again: SLURM_JOB_ID is not set");
  Command command{{SLURM_BINDIR "/scontrol", "requeue", std::string(*job)}, environment};
  command.collect_errors = true;
  command.time_limit = std::chrono::seconds(20);
  const auto done = run(command, 4096);
  if (!done) return tl::unexpected(done.error());
  if (done->exit_code != 0 || done->signal != 0)
    return fail(ErrorKind::refused,
                "cannot queue job " + printable(*job) + " again: " + printable(last_line(done->errors)),
                "sbatch --requeue allows it; the checkpoint is there");
  return {};
}

}  // namespace pinstep::worker
