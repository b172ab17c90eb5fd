#include "plugin/job_build.h"

#include "envtools/base/process.h"

namespace pinstep {

Result<void> build_in_job(const std::string& program, const Pin& pin, const Environment& environment) {
  constexpr std::size_t limit = 64 * 1024;
  const Command command{{program, "build", "--store", pin.store, "--", pin.store + "/l/" + pin.lock + ".yml"},
                        environment};
  const auto result = run(command, limit);
  if (!result) return tl::unexpected(result.error());
  if (result->signal == 0 && result->exit_code == 0) return {};
  return fail(ErrorKind::not_found, "the job's environment could not be built on this node",
              "the lines above say why; build it before submitting with --env-build=submit");
}

}  // namespace pinstep
