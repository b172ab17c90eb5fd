// The command line of pinstep-worker bench.
#pragma once

#include <string>
#include <vector>

#include "launcher/worker/bench/exchange.h"
#include "launcher/worker/bench/step.h"
#include "launcher/worker/train/session.h"

namespace pinstep::worker {

struct BenchOptions {
  std::vector<Operation> operations{std::begin(kOperations), std::end(kOperations)};
  bool overlap = true;
  bool scaling = true;
  std::size_t least = 8;  // bytes
  std::size_t most = std::size_t{1} << 30;
  std::uint32_t factor = 2;
  Effort effort;
  StepSettings step;
  bool json = false;
  SessionSettings session;
};

extern const char* const kBenchUsage;

// The words after the verb. Errors: usage.
Result<BenchOptions> parse_bench_options(const std::vector<std::string>& words);

// From least to most, each `factor` times the one before.
std::vector<std::size_t> sizes_of(const BenchOptions& options);

}  // namespace pinstep::worker
