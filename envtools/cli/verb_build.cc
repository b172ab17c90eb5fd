// pinstep build: from a lock to a prefix in the store. The work is done by pinstep-build (build/build.h).
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <filesystem>

#include "envtools/base/text.h"
#include "envtools/build/artifacts.h"
#include "envtools/build/build.h"
#include "envtools/cli/building.h"
#include "envtools/cli/cli.h"
#include "envtools/cli/environments.h"
#include "envtools/hash/hash.h"
#include "envtools/json/json.h"
#include "envtools/pin/pin.h"

namespace pinstep::cli {
namespace {

namespace fs = std::filesystem;

// clang-format off
constexpr std::string_view kBuildUsage =
    R"(usage: pinstep build [OPTION]... [ENV]

Builds an environment from its lock, into the store, unless it is there. Several
processes that build one environment at a time do it once.

  ENV             an environment file, which is solved if it has no lock, or a lock;
                  without it environment.yml in this directory or the nearest above

  --store=DIR     build into this store
  --platform=P    of the lock's platforms; this machine's without it
  --no-compile    do not byte-compile python sources
  --jobs=N        threads; without it as many as there are cores
  --json          print an object
  -q, --quiet     no progress, no notes
  -v, --verbose   a line for each stage

The link .pinstep/NAME beside NAME.yml then points at the prefix.

Exit status: 0 built or there already, 1 not built, 2 wrong usage.
)";
// clang-format on

BuildOptions asked_options(const Parsed& parsed, const Settings& settings) {
  BuildOptions options = build_options(settings);
  if (parsed.has("no-compile")) options.compile = false;
  return options;
}

Result<int> job_count(const Parsed& parsed, const Settings& settings) {
  const auto text = parsed.last("jobs");
  if (!text) return static_cast<int>(settings.jobs);
  const auto count = parse_number<std::uint32_t>(*text);
  if (!count || *count < 1 || *count > 1024)
    return fail(ErrorKind::usage, "--jobs is a number from 1 to 1024, not '" + *text + "'");
  return static_cast<int>(*count);
}

Result<BuildJob> make_job(const World& world, const Parsed& parsed, const Place& place, const NamedEnv& env) {
  if (env.kind != NamedEnv::Kind::spec && env.kind != NamedEnv::Kind::lock)
    return fail(ErrorKind::invalid, "only an environment file or a lock can be built",
                "'" + env.path + "' is neither");
  const auto jobs = job_count(parsed, place.settings);
  if (!jobs) return tl::unexpected(jobs.error());
  Progress progress;
  const auto lock = choose_lock(world, place, env, Beside::always, progress);
  if (!lock) return tl::unexpected(lock.error());
  auto job = build_job(world, place, *lock, asked_options(parsed, place.settings));
  if (!job) return job;
  job->jobs = *jobs;
  job->platform = parsed.last("platform").value_or(job->platform);
  job->quiet = parsed.has("quiet");
  job->verbose = parsed.has("verbose");
  return job;
}

// A convenience: where it cannot be kept nothing is lost, so nothing is said.
void keep_link(const std::string& spec_path, const std::string& prefix) {
  const std::string link = kept_link(spec_path);
  const std::string directory = fs::path(link).parent_path();
  if (::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) return;
  [[maybe_unused]] const auto ignored = write_once(directory + "/.gitignore", "*\n");
  const std::string aside = link + ".new-" + new_token();
  if (::symlink(prefix.c_str(), aside.c_str()) != 0) return;
  if (::rename(aside.c_str(), link.c_str()) != 0) ::unlink(aside.c_str());
}

void print_text(const BuildResult& result, double seconds) {
  const std::string fetched = result.fetched > 0 ? ", " + std::to_string(result.fetched) + " fetched (" +
                                                       format_size(result.fetched_size) + ")"
                                                 : "";
  std::printf("%s %s: %s, %zu packages%s, %.1f s\n", short_id(result.id).c_str(), result.prefix.c_str(),
              result.built ? "built" : "there already", result.packages, fetched.c_str(), seconds);
}

void print_json(const BuildResult& result, const BuildJob& job, double seconds) {
  Json json;
  json["id"] = result.id;
  json["prefix"] = result.prefix;
  json["built"] = result.built;
  json["platform"] = job.platform;
  json["lock"] = sha256_hex(job.lock_text);
  json["tree_hash"] = result.tree_hash;
  json["packages"] = result.packages;
  json["fetched"] = result.fetched;
  json["fetched_bytes"] = result.fetched_size;
  json["seconds"] = seconds;
  json["notes"] = result.notes;
  std::printf("%s\n", dump_json(json).c_str());
}

int run_build(const World& world, const Arguments& arguments) {
  const auto parsed = parse(arguments, {{"store", true},
                                        {"platform", true},
                                        {"no-compile", false},
                                        {"jobs", true},
                                        {"json", false},
                                        {"quiet", false, 'q'},
                                        {"verbose", false, 'v'}});
  if (!parsed) return report(parsed.error(), wants_json(arguments));
  const bool json = parsed->has("json");
  if (parsed->operands.size() > 1)
    return report({ErrorKind::usage, "build takes one environment", "pinstep build --help"}, json);
  const auto begin = std::chrono::steady_clock::now();
  const auto place = load_place(world, parsed->last("store").value_or(""));
  if (!place) return report(place.error(), json);
  const auto env =
      env_of(world, *place, parsed->operands.empty() ? std::nullopt : std::optional(parsed->operands[0]));
  if (!env) return report(env.error(), json);
  const auto job = make_job(world, *parsed, *place, *env);
  if (!job) return report(job.error(), json);

  const auto result = build(private_file("pinstep-build"), world.environment, *job);
  if (!result) return report(result.error(), json);
  if (env->kind == NamedEnv::Kind::spec && job->platform == own_platform())
    keep_link(env->path, result->prefix);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (json) {
    print_json(*result, *job, seconds);
    return kOk;
  }
  if (!job->quiet)
    for (const std::string& note : result->notes)
      std::fprintf(stderr, "pinstep: note: %s\n", printable(note).c_str());
  print_text(*result, seconds);
  return kOk;
}

}  // namespace

const Verb kBuild{"build", "build an environment from its lock", kBuildUsage, run_build};

}  // namespace pinstep::cli
