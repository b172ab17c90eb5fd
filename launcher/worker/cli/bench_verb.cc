#include <sys/resource.h>

#include <algorithm>
#include <vector>

#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "launcher/worker/check/facts.h"
#include "launcher/worker/cli/bench_options.h"
#include "launcher/worker/cli/bench_output.h"
#include "launcher/worker/cli/in_session.h"
#include "launcher/worker/cli/verbs.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {
namespace {

// A benchmark in its session: what rank 0 prints, and what all ranks do.
class Bench {
 public:
  Bench(Session& session, CpuDevice& device, const BenchOptions& options)
      : session_(session),
        device_(device),
        options_(options),
        form_(options.json ? Form::json : Form::text),
        size_(session.place().size) {}

  Result<void> run() {
    if (size_ == 1 && !options_.scaling)
      return fail(ErrorKind::conflict,
                  "one rank has nobody to exchange anything with: there is nothing to measure",
                  "start several, or measure scaling");
    const unsigned threads = use_threads(device_, session_.place());
    say(line_of(BenchStart{size_, std::string(session_.transport_name()), std::string(device_.name()), threads},
                form_));
    if (size_ > 1 && !options_.operations.empty()) PINSTEP_TRY(exchanges());
    if (size_ > 1 && options_.overlap) PINSTEP_TRY(overlap());
    if (options_.scaling) PINSTEP_TRY(scaling());
    PINSTEP_TRY(memory());
    if (first_wrong_.empty()) return {};
    return fail(ErrorKind::corrupt, first_wrong_, "memory, network or the library that carries changes data");
  }

 private:
  void say(const std::string& text) const {
    if (session_.place().rank == 0) print(text);
  }

  // Rather than that the kernel kills somebody.
  Result<void> has_memory() const {
    std::size_t most = 0;
    for (const Operation operation : options_.operations)
      most = std::max(most, memory_of(operation, sizes_of(options_).back(), size_));
    const std::uint64_t needed = std::uint64_t{most} * session_.place().local_size, left = available_memory();
    if (needed <= left) return {};
    return fail(
        ErrorKind::no_space,
        "the largest size needs " + format_size(needed) + " on this node, " + format_size(left) + " are left",
        "--max=BYTES sets a smaller one");
  }

  Result<void> exchanges() {
    PINSTEP_TRY(has_memory());
    say(head_of_exchanges(form_));
    for (const Operation operation : options_.operations)
      for (const std::size_t bytes : sizes_for(operation)) {
        const auto found = measure(device_, session_.transport(), operation, bytes, options_.effort);
        if (!found) return tl::unexpected(found.error());
        say(line_of(*found, form_));
        if (found->wrong > 0 && first_wrong_.empty())
          first_wrong_ = std::string(to_string(operation)) + " of " + std::to_string(found->bytes) +
                         " bytes gave " + std::to_string(found->wrong) + " wrong elements";
      }
    return {};
  }

  Result<void> overlap() {
    const auto found = measure_overlap(device_, session_.transport(), options_.step);
    if (!found) return tl::unexpected(found.error());
    say(line_of(*found, form_));
    return {};
  }

  // An operation takes elements of all ranks: several small sizes may come to one.
  std::vector<std::size_t> sizes_for(Operation operation) const {
    std::vector<std::size_t> sizes = sizes_of(options_);
    for (std::size_t& size : sizes) size = rounded_bytes(operation, size, size_);
    sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
    return sizes;
  }

  // 1, 2, 4 … ranks and all of them; the others wait.
  Result<void> scaling() {
    say(head_of_scaling(form_));
    Scaling one;
    for (std::uint32_t ranks = 1;; ranks = std::min(2 * ranks, size_)) {
      if (session_.place().rank < ranks) {
        const auto found = scaling_of(ranks);
        if (!found) return tl::unexpected(found.error());
        if (ranks == 1) one = *found;
        say(line_of(*found, one, form_));
      }
      if (const auto met = reduced(device_, session_.transport(), 0, Reduction::sum); !met)
        return tl::unexpected(met.error());
      if (ranks == size_) return {};
    }
  }

  Result<Scaling> scaling_of(std::uint32_t ranks) {
    if (ranks == size_) return measure_scaling(device_, session_.transport(), options_.step);
    const auto group = session_.group(ranks);
    if (!group) return tl::unexpected(group.error());
    return measure_scaling(device_, **group, options_.step);
  }

  Result<void> memory() {
    rusage usage{};
    ::getrusage(RUSAGE_SELF, &usage);
    const auto most =
        reduced(device_, session_.transport(), static_cast<double>(usage.ru_maxrss) * 1024, Reduction::maximum);
    if (!most) return tl::unexpected(most.error());
    say(line_of_memory(static_cast<std::uint64_t>(*most), form_));
    return {};
  }

  Session& session_;
  CpuDevice& device_;
  const BenchOptions& options_;
  const Form form_;
  const std::uint32_t size_;
  std::string first_wrong_;
};

}  // namespace

Error bench_verb(const std::vector<std::string>& words) {
  const auto options = parse_bench_options(words);
  if (!options) return options.error();
  run_in_session(options->session, options->json ? Form::json : Form::text,
                 [&](Session& session, CpuDevice& device) { return Bench(session, device, *options).run(); });
}

}  // namespace pinstep::worker
