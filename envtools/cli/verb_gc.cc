// pinstep gc: removes environments that nobody needs any more.
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "envtools/base/text.h"
#include "envtools/cli/cli.h"
#include "envtools/cli/environments.h"
#include "envtools/cli/progress.h"
#include "envtools/doctor/slurm.h"
#include "envtools/json/json.h"
#include "envtools/store/gc.h"

namespace pinstep::cli {
namespace {

// clang-format off
constexpr std::string_view kGcUsage =
    R"(usage: pinstep gc [--dry-run] [--keep-days=N] [--max-size=SIZE] [--cache]
                  [--store=DIR] [--quiet] [--json]

Removes environments of yours that nobody needs any more, and says what became of each.
One stays that has a tag, that a job has which is queued or runs, or that was used in
the last days. Also removed: what killed builds left.

  --dry-run        say what would be removed
  --keep-days=N    leave what was used in the last N days (30)
  --max-size=SIZE  then, until all have at most SIZE (500M, 20G, 1T): what was used
                   longest ago
  --cache          empty the package cache too; environments keep their files
  --store=DIR      in this store
  -q, --quiet      only what was removed, as paths
  --json           print an object

Exit status: 0 done, 1 something cannot be removed, 2 wrong usage.
)";
// clang-format on

struct Wanted {
  GcPolicy policy;
  bool dry = false, cache = false, quiet = false, json = false;
};

struct Outcome {
  GcCandidate candidate;
  GcVerdict verdict;
};

struct Cleaned {
  std::vector<Outcome> environments;
  std::vector<std::string> others;  // leftovers, notes, cache
};

// "20G": decimal, as sizes are shown.
std::optional<std::uint64_t> parse_size(std::string_view text) {
  constexpr std::string_view kUnits = "KMGT";
  std::uint64_t unit = 1;
  if (const auto at = text.empty() ? std::string_view::npos : kUnits.find(text.back());
      at != std::string_view::npos) {
    for (std::size_t i = 0; i <= at; ++i) unit *= 1000;
    text.remove_suffix(1);
  }
  const auto number = parse_number<std::uint64_t>(text);
  if (!number || *number > UINT64_MAX / unit) return std::nullopt;
  return *number * unit;
}

Result<Wanted> wanted(const Parsed& parsed, const Settings& settings) {
  Wanted wanted;
  wanted.policy.now = std::chrono::system_clock::to_time_t(std::chrono::system_clock::now());
  wanted.policy.user = ::geteuid();
  wanted.policy.lease = Days(settings.lease_days);
  wanted.dry = parsed.has("dry-run"), wanted.cache = parsed.has("cache");
  wanted.quiet = parsed.has("quiet"), wanted.json = parsed.has("json");
  if (const auto text = parsed.last("keep-days")) {
    const auto days = parse_number<std::uint32_t>(*text);
    if (!days) return fail(ErrorKind::usage, "--keep-days cannot be '" + *text + "'", "it is a number of days");
    wanted.policy.keep = Days(*days);
  }
  if (const auto text = parsed.last("max-size")) {
    wanted.policy.most_bytes = parse_size(*text);
    if (!wanted.policy.most_bytes)
      return fail(ErrorKind::usage, "--max-size cannot be '" + *text + "'",
                  "a number of bytes, or 500M, 20G, 1T");
  }
  return wanted;
}

// Nothing where no job has to be asked for, or there is no Slurm here. Errors: Slurm is there and does not
// answer: then nothing may be taken for unused.
Result<std::optional<KnownJobs>> known_jobs(const World& world, const std::vector<GcCandidate>& candidates) {
  if (!has_jobs(candidates)) return std::optional<KnownJobs>();
  const auto jobs = doctor::listed_jobs(world.environment);
  if (!jobs && jobs.error().kind == ErrorKind::not_found) return std::optional<KnownJobs>();
  const auto config = jobs ? doctor::slurm_config(world.environment) : tl::unexpected(jobs.error());
  if (!config)
    return fail(config.error().kind, "Slurm does not tell which jobs there are: " + config.error().cause,
                "try again when it does; nothing was removed");
  const auto value = [&](const char* key) {
    const auto found = config->find(key);
    return found == config->end() ? std::string() : found->second;
  };
  const bool hides = value("PrivateData").find("jobs") != std::string::npos && ::geteuid() != 0;
  return std::optional(KnownJobs{value("ClusterName"), *jobs, !hides});
}

// ---- one store

// A group's store has a cache for each member.
Store with_own_cache(const Store& store) {
  struct stat top {};
  const bool shared = ::stat(store.directory().c_str(), &top) == 0 && (top.st_mode & S_IWGRP) != 0;
  return shared ? store.with_cache_of(::geteuid()) : store;
}

Result<void> clean_others(const Store& store, const std::optional<KnownJobs>& known, const Wanted& wanted,
                          Cleaned& cleaned) {
  auto paths = leftovers(store, known, wanted.policy);
  if (!paths) return tl::unexpected(paths.error());
  const auto notes = stale_notes(store, known, wanted.policy);
  if (!notes) return tl::unexpected(notes.error());
  paths->insert(paths->end(), notes->begin(), notes->end());
  if (wanted.cache) {
    const auto cache = cache_directories(with_own_cache(store));
    if (!cache) return tl::unexpected(cache.error());
    paths->insert(paths->end(), cache->begin(), cache->end());
  }
  for (const std::string& path : *paths) {
    if (!wanted.dry)
      if (const auto removed = remove_tree(path); !removed) return removed;
    cleaned.others.push_back(path);
  }
  return {};
}

Result<void> clean(const World& world, const Place& place, const Store& store, const Wanted& wanted,
                   Progress& progress, Cleaned& cleaned) {
  const auto candidates = gc_candidates(store, place.trust);
  if (!candidates) return tl::unexpected(candidates.error());
  const auto known = known_jobs(world, *candidates);
  if (!known) return tl::unexpected(known.error());
  auto verdicts = plan_gc(*candidates, *known, wanted.policy);
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    GcVerdict& verdict = verdicts[i];
    if (verdict.removed && !wanted.dry) {
      progress.show("removing " + (*candidates)[i].published.prefix);
      const auto removed = remove_published(store, (*candidates)[i]);
      if (!removed) return tl::unexpected(removed.error());
      if (!*removed) verdict = {false, "in use since just now", verdict.last_used};
    }
    cleaned.environments.push_back({(*candidates)[i], verdict});
  }
  return clean_others(store, *known, wanted, cleaned);
}

// ---- what is said

void print_text(const Cleaned& cleaned, const Wanted& wanted) {
  std::uint64_t bytes = 0;
  std::size_t removed = 0;
  const char* word = wanted.dry ? "would go" : "removed";
  for (const auto& [candidate, verdict] : cleaned.environments) {
    if (verdict.removed) bytes += candidate.published.bytes, ++removed;
    if (wanted.quiet && verdict.removed) std::printf("%s\n", printable(candidate.published.prefix).c_str());
    if (wanted.quiet) continue;
    std::printf("%-8s  %s  %8s  %-12s  %s\n", verdict.removed ? word : "kept",
                short_id(candidate.published.id).c_str(), format_size(candidate.published.bytes).c_str(),
                candidate.published.name.empty() ? "-" : printable(candidate.published.name).c_str(),
                verdict.reason.c_str());
  }
  for (const std::string& path : cleaned.others)
    std::printf(wanted.quiet ? "%s%s\n" : "%-8s  %s\n", wanted.quiet ? "" : word, printable(path).c_str());
  if (wanted.quiet) return;
  std::printf(
      "%zu of %zu environments %s, with %s of files%s\n", removed, cleaned.environments.size(),
      wanted.dry ? "would go" : "removed", format_size(bytes).c_str(),
      removed > 0 && !wanted.cache ? "; what the package cache has too stays there without --cache" : "");
}

void print_json(const Cleaned& cleaned, const Wanted& wanted) {
  Json json{{"dry_run", wanted.dry}, {"environments", Json::array()}, {"others", cleaned.others}};
  for (const auto& [candidate, verdict] : cleaned.environments)
    json["environments"].push_back({{"id", candidate.published.id},
                                    {"name", candidate.published.name},
                                    {"prefix", candidate.published.prefix},
                                    {"bytes", candidate.published.bytes},
                                    {"last_used", verdict.last_used},
                                    {"tags", candidate.tags},
                                    {"removed", verdict.removed},
                                    {"reason", verdict.reason}});
  std::printf("%s\n", dump_json(json).c_str());
}

int run_gc(const World& world, const Arguments& arguments) {
  const auto parsed = parse(arguments, {{"dry-run", false},
                                        {"keep-days", true},
                                        {"max-size", true},
                                        {"cache", false},
                                        {"store", true},
                                        {"quiet", false, 'q'},
                                        {"json", false}});
  if (!parsed) return report(parsed.error(), wants_json(arguments));
  const bool json = parsed->has("json");
  if (!parsed->operands.empty())
    return report({ErrorKind::usage, "gc takes no argument", "pinstep gc --help"}, json);
  const auto place = load_place(world, parsed->last("store").value_or(""));
  if (!place) return report(place.error(), json);
  const auto asked = wanted(*parsed, place->settings);
  if (!asked) return report(asked.error(), json);

  Progress progress;
  Cleaned cleaned;
  for (const Store& store : place->stores) {
    if (::access(store.directory().c_str(), F_OK) != 0) continue;
    const auto done = clean(world, *place, store, *asked, progress, cleaned);
    if (done) continue;
    progress.clear();
    // What was removed before is said, too.
    if (!json) print_text(cleaned, *asked);
    return report(done.error(), json);
  }
  progress.clear();
  if (json)
    print_json(cleaned, *asked);
  else
    print_text(cleaned, *asked);
  return kOk;
}

}  // namespace

const Verb kGc{"gc", "remove environments that nobody needs any more", kGcUsage, run_gc};

}  // namespace pinstep::cli
