#include "launcher/prepare/end_step.h"

#include <fcntl.h>
#include <unistd.h>

#include "envtools/base/fd.h"
#include "envtools/base/process.h"

namespace pinstep {
namespace {

constexpr unsigned kScancelSeconds = 120;
constexpr std::size_t kScancelOutput = 64 * 1024;  // bytes; nobody reads them

}  // namespace

std::vector<std::string> step_ids(const StepId& id, const Environment& environment) {
  std::vector<std::string> ids;
  for (const std::uint32_t job : component_jobs(environment))
    ids.push_back(StepId{job, id.kind, id.number}.text());
  return ids.empty() ? std::vector<std::string>{id.text()} : ids;
}

// A child rather than exec: scancel's exit code would be the task's, 0 where the other tasks have ended by
// themselves; and exec from the plugin's watcher thread would wait for the main thread, which may be where no
// signal reaches it. --ctld, or scancel asks each node itself, and is killed with this one's tasks before it
// has asked the others.
void end_step(const std::string& scancel, const std::vector<std::string>& ids, const Environment& environment) {
  // What scancel has to say would be one more line; the user has had his.
  const UniqueFd nowhere(::open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (nowhere.valid()) ::dup2(nowhere.get(), STDERR_FILENO);
  Command command{{scancel, "--quiet", "--ctld", "--signal=KILL"}, {}};
  command.argv.insert(command.argv.end(), ids.begin(), ids.end());
  if (const auto conf = environment.get("SLURM_CONF")) command.environment.set("SLURM_CONF", *conf);
  // A deadline's alarm was for preparing the task; a slow controller gets longer.
  ::alarm(kScancelSeconds);
  if (!run(command, kScancelOutput)) exec(command);  // the user may have no process left
}

}  // namespace pinstep
