// What one rank tells of its node and of its way to the others; values, and JSON for the store.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "envtools/json/json.h"

namespace pinstep::worker {

// What must be equal on all nodes, "" where there is none, and what must be enough.
struct Facts {
  std::string gpus;              // "4 x NVIDIA H200"
  std::string driver;            // of the GPUs
  std::string nccl;              // "2.28.9"
  std::string environment;       // pinstep's id of the active environment
  std::string version;           // of pinstep-worker
  std::uint64_t memory = 0;      // bytes this node could still give, or the job's cgroup
  std::uint64_t shm = 0;         // bytes free in /dev/shm
  std::uint64_t open_files = 0;  // soft limit

  bool operator==(const Facts&) const = default;
};

struct Link {
  std::uint32_t to = 0;  // a rank
  std::string error;     // why there is none; else it has
  double latency = 0;    // seconds there, half of the shortest round trip
  double bandwidth = 0;  // bytes per second, the best of several pieces

  bool operator==(const Link&) const = default;
};

// This rank's clock less rank 0's, in seconds; right to within `uncertainty`.
struct Skew {
  double seconds = 0;
  double uncertainty = 0;

  bool operator==(const Skew&) const = default;
};

struct RankReport {
  std::uint32_t rank = 0;
  std::uint32_t local_size = 1;
  std::string node;
  Facts facts;
  std::optional<Skew> skew;
  std::vector<Link> links;

  bool operator==(const RankReport&) const = default;
};

Json json_of(const RankReport& report);
// Nothing for what is no report.
std::optional<RankReport> read_rank_report(std::string_view text);

}  // namespace pinstep::worker
