// What the reports of all ranks mean: pure.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "launcher/worker/check/report.h"

namespace pinstep::worker {

// What is asked of an allocation.
struct Limits {
  double skew = 1;                                  // seconds
  double bandwidth = 0;                             // bytes per second of every link; 0: none
  double latency = 0;                               // seconds; 0: none
  std::uint64_t memory = std::uint64_t{256} << 20;  // bytes for each rank of a node
  std::uint64_t shm = std::uint64_t{128}
                      << 20;  // bytes of a node: Docker's default, 64 MiB, is too few for NCCL
};

struct Finding {
  std::string kind;  // "reach", "clock", "link", "equal", "memory", "shm", "files"
  std::string text;  // one sentence, with the node's name
  std::string hint;  // never empty

  bool operator==(const Finding&) const = default;
};

// How many of the step's ranks came, and what they told.
struct Gathered {
  std::uint32_t size = 1;
  std::string master;                            // rank 0's port, "10.0.0.1:29500"
  std::vector<std::string> nodes;                // of the step, where Slurm tells them
  std::vector<std::optional<RankReport>> ranks;  // rank 0's is always there
};

// Worst first; empty where the allocation is fit.
std::vector<Finding> judge(const Gathered& gathered, const Limits& limits);

struct Summary {
  std::uint32_t ranks = 0, nodes = 0, links = 0;
  double most_latency = 0;     // seconds
  double least_bandwidth = 0;  // bytes per second
  double most_skew = 0;        // seconds, without its sign
};

Summary summarize(const Gathered& gathered);

}  // namespace pinstep::worker
