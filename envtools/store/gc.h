// What `pinstep gc` removes: which environments nobody needs any more, as a pure function of what the store and
// Slurm say; and removing them.
//
// An environment is kept by a tag, by a job that is still to run or runs, by a submission that no step has
// followed yet, and by recent use. Only prefixes of the calling user are ever candidates.
#pragma once

#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "envtools/pin/use.h"
#include "envtools/store/store.h"

namespace pinstep {

using Days = std::chrono::duration<std::int64_t, std::ratio<86400>>;

struct NotedUse {
  Use use;
  std::int64_t time = 0;  // seconds since the epoch
  uid_t owner = 0;        // of the file

  bool operator==(const NotedUse&) const = default;
};

struct GcCandidate {
  Published published;
  std::vector<std::string> tags;
  std::vector<NotedUse> uses;
};

// What Slurm knows. Nothing: there is none here, or nobody has asked.
struct KnownJobs {
  std::string cluster;
  std::set<std::uint32_t> jobs;  // not over, or over a short while ago
  bool of_all_users = true;      // PrivateData hides those of others
};

struct GcPolicy {
  std::int64_t now = 0;  // seconds since the epoch
  uid_t user = 0;        // who asks
  Days keep{30};         // after the last use
  Days lease{60};  // how long a submission counts that no step has followed, and a job that cannot be asked for
  std::optional<std::uint64_t> most_bytes;  // of all environments: those used longest ago go first
};

struct GcVerdict {
  bool removed = false;
  std::string reason;          // "tag train", "Slurm still has job 17", "used 3 days ago"
  std::int64_t last_used = 0;  // seconds since the epoch: its last use, or when it was built
};

// One verdict per candidate, in their order.
std::vector<GcVerdict> plan_gc(const std::vector<GcCandidate>& candidates,
                               const std::optional<KnownJobs>& known, const GcPolicy& policy);

// Whether Slurm has to be asked: there are records of jobs.
bool has_jobs(const std::vector<GcCandidate>& candidates);

// ---- the store

// The user's own published prefixes with all that speaks for them. Errors: os; refused, where others use the
// store and cannot write down that they do (u/ must be 1777).
Result<std::vector<GcCandidate>> gc_candidates(const Store& store, const Trust& trust);

// Takes the prefix out of the way, looks again whether anybody has begun to use it since, and then removes it
// or puts it back. False: put back. Errors: os.
Result<bool> remove_published(const Store& store, const GcCandidate& candidate);

// The user's own hidden directories that may go: what killed builds and removals left, and damaged prefixes
// older than `keep` that no job may be running in. Absolute paths. Errors: os.
Result<std::vector<std::string>> leftovers(const Store& store, const std::optional<KnownJobs>& known,
                                           const GcPolicy& policy);

// The user's own notes of uses that count no more. Errors: os.
Result<std::vector<std::string>> stale_notes(const Store& store, const std::optional<KnownJobs>& known,
                                             const GcPolicy& policy);

// The user's own directories of the package cache: archives, unpacked packages, wheels. Environments keep the
// files they share with them. Errors: busy (something is being built), os.
Result<std::vector<std::string>> cache_directories(const Store& store);

}  // namespace pinstep
