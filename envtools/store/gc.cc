#include "envtools/store/gc.h"

#include <algorithm>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

// How a reason says when; a clock that went back gives 0.
std::string ago(std::int64_t then, std::int64_t now) {
  const std::int64_t days = std::max<std::int64_t>(now - then, 0) / std::chrono::seconds(Days(1)).count();
  if (days == 0) return "today";
  return std::to_string(days) + (days == 1 ? " day ago" : " days ago");
}

bool is_within(std::int64_t then, Days time, std::int64_t now) {
  return now - then < std::chrono::seconds(time).count();
}

// Whether Slurm has told of this job, and else what its age says.
std::optional<std::string> job_reason(const NotedUse& noted, const std::optional<KnownJobs>& known,
                                      const GcPolicy& policy) {
  const std::string name = "job " + std::to_string(noted.use.job);
  const bool is_known =
      known && noted.use.cluster == known->cluster && (known->of_all_users || noted.owner == policy.user);
  if (is_known)
    return known->jobs.contains(noted.use.job) ? std::optional("Slurm still has " + name) : std::nullopt;
  if (!is_within(noted.time, policy.lease, policy.now)) return std::nullopt;
  return name + (noted.use.cluster.empty() ? "" : " of " + noted.use.cluster) + " may not be over";
}

bool has_started(const NotedUse& submission, const std::vector<NotedUse>& uses) {
  return std::any_of(uses.begin(), uses.end(), [&](const NotedUse& other) {
    return other.use.kind == Use::Kind::job && other.use.token == submission.use.token;
  });
}

// Why the candidate must stay, however long it was not used.
std::optional<std::string> needed(const GcCandidate& candidate, const std::optional<KnownJobs>& known,
                                  const GcPolicy& policy) {
  if (!candidate.tags.empty()) return "tag " + candidate.tags.front();
  for (const NotedUse& noted : candidate.uses) {
    if (noted.use.kind == Use::Kind::job)
      if (auto reason = job_reason(noted, known, policy)) return reason;
    if (noted.use.kind == Use::Kind::submit && !has_started(noted, candidate.uses) &&
        is_within(noted.time, policy.lease, policy.now))
      return "submitted " + ago(noted.time, policy.now) + ", not started yet";
  }
  return std::nullopt;
}

std::int64_t last_used(const GcCandidate& candidate) {
  std::int64_t last = candidate.published.built;
  for (const NotedUse& noted : candidate.uses) last = std::max(last, noted.time);
  return last;
}

GcVerdict judge(const GcCandidate& candidate, const std::optional<KnownJobs>& known, const GcPolicy& policy) {
  const std::int64_t last = last_used(candidate);
  if (const auto reason = needed(candidate, known, policy)) return {false, *reason, last};
  return {!is_within(last, policy.keep, policy.now), "last used " + ago(last, policy.now), last};
}

// Those used longest ago, until the others fit.
void make_fit(const std::vector<GcCandidate>& candidates, const std::optional<KnownJobs>& known,
              const GcPolicy& policy, std::vector<GcVerdict>& verdicts) {
  std::uint64_t total = 0;
  std::vector<std::size_t> free;
  for (std::size_t i = 0; i < candidates.size(); ++i) {
    if (verdicts[i].removed) continue;
    total += candidates[i].published.bytes;
    if (!needed(candidates[i], known, policy)) free.push_back(i);
  }
  std::stable_sort(free.begin(), free.end(),
                   [&](std::size_t a, std::size_t b) { return verdicts[a].last_used < verdicts[b].last_used; });
  for (const std::size_t i : free) {
    if (total <= *policy.most_bytes) return;
    total -= candidates[i].published.bytes;
    verdicts[i].removed = true;
  }
}

}  // namespace

bool has_jobs(const std::vector<GcCandidate>& candidates) {
  return std::any_of(candidates.begin(), candidates.end(), [](const GcCandidate& candidate) {
    return std::any_of(candidate.uses.begin(), candidate.uses.end(),
                       [](const NotedUse& noted) { return noted.use.kind == Use::Kind::job; });
  });
}

std::vector<GcVerdict> plan_gc(const std::vector<GcCandidate>& candidates,
                               const std::optional<KnownJobs>& known, const GcPolicy& policy) {
  std::vector<GcVerdict> verdicts;
  for (const GcCandidate& candidate : candidates) verdicts.push_back(judge(candidate, known, policy));
  if (policy.most_bytes) make_fit(candidates, known, policy, verdicts);
  return verdicts;
}

}  // namespace pinstep
