// What rank 0 prints of a benchmark: a table for people, or one JSON object per line with seconds and bytes.
#pragma once

#include <string>

#include "launcher/worker/bench/exchange.h"
#include "launcher/worker/bench/step.h"
#include "launcher/worker/cli/output.h"

namespace pinstep::worker {

struct BenchStart {
  std::uint32_t ranks = 1;
  std::string transport;
  std::string device;
  unsigned threads = 0;
};

std::string line_of(const BenchStart& start, Form form);
std::string head_of_exchanges(Form form);  // empty in JSON
std::string line_of(const Exchanged& found, Form form);
std::string line_of(const Overlap& found, Form form);
std::string head_of_scaling(Form form);
// `one` is what a rank alone does.
std::string line_of(const Scaling& found, const Scaling& one, Form form);
// The most memory that a rank had in the end, in bytes.
std::string line_of_memory(std::uint64_t most, Form form);

}  // namespace pinstep::worker
