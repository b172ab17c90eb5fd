#include "launcher/worker/cli/bench_options.h"

#include "envtools/base/text.h"
#include "launcher/worker/cli/session_options.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {

const char* const kBenchUsage =
    R"(usage: pinstep-worker bench [OPTION]... [WHAT]...

Measures what a training run lives on: operations between all ranks of a step by size,
with results checked; what overlapping communication with computation gains; and training
steps of 1, 2, 4 ... of the ranks. Started like train. WHAT is any of all-reduce, broadcast,
all-gather, send-receive, overlap and scaling; all of them by default.

operations
  --min=BYTES          the smallest size (8)
  --max=BYTES          the largest (1G)
  --factor=N           from one size to the next (2)
  --iterations=N       of each operation and size; as many as 0.2 s allow by default
steps of overlap and scaling
  --batch=N            images per rank (64)
  --hidden=N,N,...     units of the hidden layers (2048,2048,2048)
ranks
  --store=WHICH        how ranks meet: tcp (MASTER_ADDR, MASTER_PORT), pmix, or auto (the default)
  --timeout=SECONDS    for each exchange between the ranks (60)
  --start-timeout=SECONDS  for all ranks to arrive (300)
output
  --json               one JSON object per line
  --help, --version

Exit status: 0, 1 failed or a result is wrong, 2 wrong usage, 3 another rank is gone or
does not answer, 4 the ranks lost each other and nobody knows why.
)";

namespace {

// The first word takes everything else out.
Result<void> read_what(const std::vector<std::string>& words, BenchOptions& options) {
  if (words.empty()) return {};
  options.operations.clear();
  options.overlap = options.scaling = false;
  for (const std::string& word : words) {
    if (const auto operation = parse_operation(word))
      options.operations.push_back(*operation);
    else if (word == "overlap")
      options.overlap = true;
    else if (word == "scaling")
      options.scaling = true;
    else
      return fail(ErrorKind::usage, "'" + printable(word) + "' is nothing that can be measured",
                  "--help lists what can");
  }
  return {};
}

}  // namespace

Result<BenchOptions> parse_bench_options(const std::vector<std::string>& words) {
  BenchOptions o;
  std::vector<std::uint32_t> hidden;
  std::vector<Option> rows{
      bytes_option("--min", o.least),        bytes_option("--max", o.most),
      count_option("--factor", o.factor, 2), count_option("--iterations", o.effort.iterations),
      rows_option("--batch", o.step.batch),  layers_option("--hidden", hidden),
      flag_option("--json", o.json),
  };
  for (Option& row : session_options(o.session)) rows.push_back(std::move(row));
  std::vector<std::string> what;
  PINSTEP_TRY(read_options(words, rows, &what));
  PINSTEP_TRY(read_what(what, o));
  if (o.least > o.most) return fail(ErrorKind::usage, "'--min' is more than '--max'");
  if (!hidden.empty()) {
    hidden.insert(hidden.begin(), o.step.sizes.front());
    hidden.push_back(o.step.sizes.back());
    o.step.sizes = std::move(hidden);
  }
  return o;
}

std::vector<std::size_t> sizes_of(const BenchOptions& options) {
  std::vector<std::size_t> sizes;
  for (std::size_t size = options.least; size <= options.most; size *= options.factor) sizes.push_back(size);
  return sizes;
}

}  // namespace pinstep::worker
