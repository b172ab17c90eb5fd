// pinstep lock: from a spec to the lock beside it.
#include <unistd.h>

#include <chrono>
#include <cstdio>

#include "envtools/base/text.h"
#include "envtools/build/build.h"
#include "envtools/cli/cli.h"
#include "envtools/cli/env.h"
#include "envtools/cli/importing.h"
#include "envtools/cli/locking.h"
#include "envtools/cli/progress.h"
#include "envtools/config/files.h"
#include "envtools/json/json.h"
#include "envtools/lock/changes.h"
#include "envtools/solver/cutoff.h"

namespace pinstep::cli {
namespace {

constexpr std::string_view kLockUsage =
    R"(usage: pinstep lock [--platform=P]... [--profile=PROFILE] [--virtual-package=V]...
                    [--channel-priority=P] [--exclude-newer=DATE]
                    [--update=PACKAGE]... [--update-all] [--time-limit=SECONDS]
                    [--output=FILE] [--check] [--offline] [--json] [SPEC]
       pinstep lock [--python=VERSION|LOCK] [--extra=NAME]... [--group=NAME]...
                    [--fetch-hashes] [OPTION]... FILE

Solves a spec and writes every package's URL and sha256 beside it: environment.yml
gets environment-lock.yml. A lock that fits its spec is left as it is; of one that does
not, versions stay where they still fit.

In the second form FILE is a lock of another program, pixi.lock, pylock.toml, uv.lock, a
requirements file with hashes or a list of URLs; it becomes a lock of pinstep's.

  SPEC            the environment.yml; without it the nearest upward from here

  --platform=P    lock for this platform, such as linux-aarch64; may be repeated
  --profile=PROFILE  what the nodes offer: a name (pinstep profile list) or a file
  --virtual-package=V  one of them, such as __cuda=12.4; may be repeated
  --channel-priority=P  strict, flexible (as conda; the default) or disabled
  --exclude-newer=DATE  as of this day, such as 2026-03-31; none: as of today
  --update=PACKAGE  let this package move; may be repeated
  --update-all    solve as if there were no lock
  --time-limit=SECONDS  for each platform's solve; 600 if not given
  --output=FILE   write the lock there
  --check         write nothing; exit status 1 if the lock does not fit, with why
  --python=VERSION|LOCK  for a lock of Python packages: the Python they run in, solved
                  for, or that of a lock with its other conda packages
  --extra=NAME    of pylock.toml and uv.lock: with this extra; may be repeated
  --group=NAME    likewise a dependency group
  --fetch-hashes  of a list of URLs: trust what is fetched where a package has no hash
  --offline       use only what the caches have
  --json          print an object

Platforms, profile, channel priority and date stay those of the lock there is, unless
given.

Exit status: 0 the lock fits now, 1 it does not or cannot be made, 2 wrong usage.
)";

constexpr unsigned kLongestTime = 24 * 60 * 60;  // seconds

Result<void> add_channel_priority(LockOptions& options, const Parsed& parsed) {
  const auto priority = parsed.last("channel-priority");
  if (!priority) return {};
  options.channel_priority = *priority;
  return check_channel_priority(*priority);
}

Result<void> add_cutoff(LockOptions& options, const Parsed& parsed) {
  const auto date = parsed.last("exclude-newer");
  if (!date) return {};
  if (*date == kNoCutoff) {
    options.exclude_newer = kNoCutoff;
    return {};
  }
  auto cutoff = parse_cutoff(*date);
  if (!cutoff)
    return fail(cutoff.error().kind, "--exclude-newer: " + cutoff.error().cause, cutoff.error().hint);
  options.exclude_newer = std::move(*cutoff);
  return {};
}

Result<void> add_time_limit(LockOptions& options, const Parsed& parsed) {
  const auto text = parsed.last("time-limit");
  if (!text) return {};
  const auto seconds = parse_number<unsigned>(*text);
  if (!seconds || *seconds == 0 || *seconds > kLongestTime)
    return fail(ErrorKind::usage, "--time-limit: '" + printable(*text) + "' is no number of seconds",
                "it is between 1 and " + std::to_string(kLongestTime));
  options.time_limit = std::chrono::seconds(*seconds);
  return {};
}

bool is_updated(const Parsed& parsed) { return parsed.has("update") || parsed.has("update-all"); }

Result<void> add_asked(LockOptions& options, const World& world, const Parsed& parsed) {
  options.platforms = parsed.all("platform");
  for (const std::string& platform : options.platforms)
    if (const auto known = check_platform(platform); !known)
      return fail(ErrorKind::usage, "--platform: " + known.error().cause, known.error().hint);
  options.offline = parsed.has("offline");
  options.update.all = parsed.has("update-all");
  for (const std::string& name : parsed.all("update")) options.update.names.push_back(to_lower(name));
  if (auto added = add_channel_priority(options, parsed); !added) return added;
  if (auto added = add_cutoff(options, parsed); !added) return added;
  if (auto added = add_time_limit(options, parsed); !added) return added;
  return add_profile(options, world, parsed);
}

// What is told at the end.
struct Outcome {
  std::string path;   // of the lock
  const char* state;  // "made", "updated", "fits", "changed", "none"
  const Lock* lock = nullptr;
  double seconds = 0;
  std::vector<std::string> changes;
};

std::uint64_t bytes_of(const Lock& lock) {
  std::uint64_t bytes = 0;
  for (const LockedPackage& package : lock.packages) bytes += package.size;
  return bytes;
}

std::string list(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

void print_json(const Outcome& outcome) {
  Json json;
  json["lock"] = outcome.path;
  json["state"] = outcome.state;
  if (outcome.lock != nullptr) {
    json["platforms"] = outcome.lock->platforms;
    json["packages"] = outcome.lock->packages.size();
    json["bytes"] = bytes_of(*outcome.lock);
  }
  json["seconds"] = outcome.seconds;
  json["changes"] = outcome.changes;
  std::printf("%s\n", dump_json(json).c_str());
}

void print_made(const Outcome& outcome, const std::string& counted) {
  const Lock& lock = *outcome.lock;
  std::printf("%s: %zu packages for %s, %s, solved in %.1f s%s\n", outcome.path.c_str(), lock.packages.size(),
              list(lock.platforms).c_str(), format_size(bytes_of(lock)).c_str(), outcome.seconds,
              counted.empty() ? "" : ("; " + counted).c_str());
  for (const std::string& change : outcome.changes) std::printf("  %s\n", printable(change).c_str());
}

int tell_check(const Outcome& outcome, LockState state, bool json) {
  if (json) {
    print_json(outcome);
  } else if (state == LockState::fits) {
    std::printf("%s fits its spec\n", outcome.path.c_str());
  } else {
    std::printf("%s %s\n", outcome.path.c_str(),
                state == LockState::none ? "is not there" : "does not fit its spec:");
    for (const std::string& change : outcome.changes) std::printf("  %s\n", printable(change).c_str());
  }
  return state == LockState::fits ? kOk : kFailed;
}

class Locking {
 public:
  Locking(const World& world, const Parsed& parsed)
      : world_(world), parsed_(parsed), json_(parsed.has("json")) {}

  Result<int> run() {
    if (::geteuid() == 0) return tl::unexpected(refused_to_root());
    const auto path = spec_operand(world_, parsed_);
    if (!path) return tl::unexpected(path.error());
    const auto foreign = foreign_lock(*path, parsed_);
    if (!foreign) return tl::unexpected(foreign.error());
    if (*foreign) return import(**foreign);
    const auto spec = load_spec(*path);
    if (!spec) return tl::unexpected(spec.error());
    if (!json_)
      for (const std::string& note : spec->notes)
        std::fprintf(stderr, "pinstep: note: %s\n", printable(note).c_str());
    const auto settings = load_user_settings(world_.environment, {});
    if (!settings) return tl::unexpected(settings.error());
    auto options = lock_options(world_, settings->settings, progress_);
    if (!options) return tl::unexpected(options.error());
    if (auto asked = add_asked(*options, world_, parsed_); !asked) return tl::unexpected(asked.error());
    const auto output = parsed_.last("output");
    const std::string lock_path = output ? absolute(*output, world_.directory) : lock_path_of(*path);

    auto check = check_lock(*spec, lock_path, *options);
    if (!check && parsed_.has("update-all")) check = LockCheck{};  // it is going to be replaced
    if (!check) return tl::unexpected(check.error());
    if (parsed_.has("check"))
      return tell_check(
          {lock_path, name_of(check->state), check->lock ? &*check->lock : nullptr, 0, check->changes},
          check->state, json_);
    if (check->state == LockState::fits && !is_updated(parsed_)) return leave(lock_path, *check->lock);
    if (!check->ours && !parsed_.has("update-all"))
      return fail(ErrorKind::conflict, "'" + lock_path + "' was not made by pinstep",
                  "--update-all replaces it, --output=FILE leaves it");
    if (auto solver = add_solver(*options, settings->settings, progress_); !solver)
      return tl::unexpected(solver.error());
    return solve(*spec, *options, lock_path, check->lock);
  }

 private:
  static const char* name_of(LockState state) {
    return state == LockState::fits ? "fits" : state == LockState::none ? "none" : "changed";
  }

  int leave(const std::string& path, const Lock& lock) const {
    if (json_)
      print_json({path, "fits", &lock, 0, {}});
    else
      std::printf("%s is up to date\n", path.c_str());
    return kOk;
  }

  // A lock of another program, as one of ours.
  Result<int> import(const ForeignLock& foreign) {
    const auto settings = load_user_settings(world_.environment, {});
    if (!settings) return tl::unexpected(settings.error());
    auto options = lock_options(world_, settings->settings, progress_);
    if (!options) return tl::unexpected(options.error());
    if (auto asked = add_asked(*options, world_, parsed_); !asked) return tl::unexpected(asked.error());
    const auto output = parsed_.last("output");
    const std::string path = output ? absolute(*output, world_.directory) : imported_path(foreign);
    std::optional<Lock> before;
    if (auto lock = load_lock(path)) before = std::move(*lock);
    const bool fits = before && is_imported_from(*before, foreign.text);
    const LockState state = fits ? LockState::fits : before ? LockState::changed : LockState::none;
    if (parsed_.has("check")) {
      const std::string other = foreign.path + " is another file than the lock was made of";
      return tell_check({path, name_of(state), before ? &*before : nullptr, 0, {other}}, state, json_);
    }
    const bool is_asked =
        parsed_.has("python") || parsed_.has("extra") || parsed_.has("group") || is_updated(parsed_);
    if (fits && !is_asked) return leave(path, *before);
    const auto start = std::chrono::steady_clock::now();
    return finish(import_lock(world_, foreign, parsed_, settings->settings, *options,
                              before ? &*before : nullptr, progress_),
                  path, before, start);
  }

  Result<int> solve(const Spec& spec, const LockOptions& options, const std::string& path,
                    const std::optional<Lock>& before) {
    const auto start = std::chrono::steady_clock::now();
    const auto lock = make_lock(spec, options, before ? &*before : nullptr);
    progress_.clear();
    return finish(lock, path, before, start);
  }

  Result<int> finish(const Result<Lock>& lock, const std::string& path, const std::optional<Lock>& before,
                     std::chrono::steady_clock::time_point start) {
    if (!lock) return tl::unexpected(lock.error());
    if (auto saved = save_lock(*lock, path); !saved) return tl::unexpected(saved.error());
    const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
    const auto changes =
        before ? package_changes(before->packages, lock->packages) : std::vector<PackageChange>{};
    Outcome outcome{path, before ? "updated" : "made", &*lock, taken.count(), {}};
    for (const PackageChange& change : changes) outcome.changes.push_back(to_line(change));
    if (json_)
      print_json(outcome);
    else
      print_made(outcome, before ? summary(changes) : "");
    return kOk;
  }

  const World& world_;
  const Parsed& parsed_;
  const bool json_;
  Progress progress_;
};

int run_lock(const World& world, const Arguments& arguments) {
  const auto parsed = parse(arguments, {{"platform", true},
                                        {"profile", true},
                                        {"virtual-package", true},
                                        {"output", true},
                                        {"check", false},
                                        {"update", true},
                                        {"update-all", false},
                                        {"channel-priority", true},
                                        {"exclude-newer", true},
                                        {"time-limit", true},
                                        {"python", true},
                                        {"extra", true},
                                        {"group", true},
                                        {"fetch-hashes", false},
                                        {"offline", false},
                                        {"json", false}});
  if (!parsed) return report(parsed.error(), wants_json(arguments));
  if (parsed->has("check") && is_updated(*parsed))
    return report({ErrorKind::usage, "--check and --update exclude each other", ""}, parsed->has("json"));
  const auto code = Locking(world, *parsed).run();
  return code ? *code : report(code.error(), parsed->has("json"));
}

}  // namespace

const Verb kLock{"lock", "solve a spec and write its lock beside it", kLockUsage, run_lock};

}  // namespace pinstep::cli
