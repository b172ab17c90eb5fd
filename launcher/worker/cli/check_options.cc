#include "launcher/worker/cli/check_options.h"

#include "launcher/worker/cli/session_options.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {

const char* const kCheckUsage =
    R"(usage: pinstep-worker check [OPTION]...

Looks within seconds whether an allocation can train: whether all ranks reach rank 0's port
and each other, how fast, whether clocks, GPUs, drivers, NCCL and environments agree, and
whether there is enough memory, shared memory and open files. In a batch script:
srun pinstep-launch -- pinstep-worker check || exit 1

  --timeout=SECONDS        it ends by then, whatever happens (30)
  --max-skew=SECONDS       of a clock against rank 0's (1)
  --min-bandwidth=RATE     of every link, in bytes per second: 12.5G is a link of 100 Gbit/s;
                           only beside the others by default
  --max-latency=SECONDS    of every link; likewise
  --min-memory=BYTES       left on a node for each of its ranks (256M)
  --min-shm=BYTES          left in /dev/shm (128M)
  --store=WHICH            how ranks meet: tcp (MASTER_ADDR, MASTER_PORT), pmix, or auto (the default)
  --json                   one JSON object per line
  --help, --version

Exit status: 0 fit, 1 not fit or not all ranks could be asked, 2 wrong usage.
)";

Result<CheckOptions> parse_check_options(const std::vector<std::string>& words) {
  CheckOptions o;
  float skew = static_cast<float>(o.limits.skew), latency = 0;
  const std::vector<Option> rows{
      seconds_option("--timeout", o.time),
      real_option("--max-skew", skew),
      rate_option("--min-bandwidth", o.limits.bandwidth),
      real_option("--max-latency", latency),
      bytes_option("--min-memory", o.limits.memory),
      bytes_option("--min-shm", o.limits.shm),
      store_option(o.store),
      flag_option("--json", o.json),
  };
  PINSTEP_TRY(read_options(words, rows));
  o.limits.skew = skew;
  o.limits.latency = latency;
  return o;
}

}  // namespace pinstep::worker
