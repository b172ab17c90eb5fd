#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <numeric>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/build/artifacts.h"
#include "envtools/build/build.h"
#include "envtools/build/pool.h"
#include "envtools/build/progress.h"
#include "envtools/build/published.h"
#include "envtools/execute/execute.h"
#include "envtools/fetch/fetch.h"
#include "envtools/hash/hash.h"
#include "envtools/package/cache.h"
#include "envtools/pin/pin.h"
#include "envtools/record/recorder.h"
#include "envtools/store/lease.h"
#include "envtools/store/records.h"
#include "envtools/store/store.h"

namespace pinstep {
namespace {

constexpr int kTries = 3;  // a builder whose lease was taken from it waits for the one who took it

// ---- what was there before

// Stages of builders that are dead: all of this environment, whose lease is ours, and those that nobody has
// a lease for. What belongs to others stays, without an error.
void remove_dead_stages(const Store& store, std::string_view id) {
  const std::string directory = store.directory() + "/e";
  const auto names = directory_names(directory);
  if (!names) return;
  for (const std::string& name : *names) {
    const auto hidden = parse_hidden(name);
    if (!hidden || hidden->kind != HiddenName::Kind::stage) continue;
    if (hidden->id16 == short_id(id) || is_abandoned(store.build_lease(hidden->id16))) [[maybe_unused]]
      const auto removed = remove_tree(directory + "/" + name);
  }
}

// ---- fetching and unpacking

struct Sources {
  std::vector<CondaSource> conda;
  std::vector<WheelSource> wheels;
};

// One artifact, from the archive to what the plan needs to know of it.
struct Unpacked {
  std::optional<CondaSource> conda;
  std::optional<WheelSource> wheel;
};

Result<void> unpack(const Artifact& artifact, const Store& store, Unpacked& unpacked) {
  const LockedPackage& package = artifact.package;
  if (package.manager == Manager::pip) {
    const auto directory = extract_wheel_into_cache(artifact.archive, store.wheels(), package.sha256);
    auto source = directory ? load_wheel_source(package, *directory) : tl::unexpected(directory.error());
    if (!source) return tl::unexpected(source.error());
    unpacked.wheel = std::move(*source);
    return {};
  }
  const auto directory = extract_into_cache(artifact.archive, store.packages(), artifact.stem, package.sha256);
  auto source = directory ? load_conda_source(package, *directory) : tl::unexpected(directory.error());
  if (!source) return tl::unexpected(source.error());
  unpacked.conda = std::move(*source);
  return {};
}

// What was fetched in this call has been checked while it arrived.
Result<void> check_archive(const Artifact& artifact) {
  const auto digest = hash_file(artifact.archive);
  if (!digest) return tl::unexpected(digest.error());
  if (*digest == artifact.package.sha256) return {};
  return fail(ErrorKind::corrupt, "'" + artifact.archive + "' has another sha256 than the lock says");
}

Result<void> remove_from_cache(const Artifact& artifact, Cached what) {
  if (what == Cached::directory) return remove_cached(artifact.directory);
  if (::unlink(artifact.archive.c_str()) != 0 && errno != ENOENT)
    return fail_errno(errno, "remove", artifact.archive);
  return {};
}

std::string counted(std::size_t count, const char* what) {
  return std::to_string(count) + " " + what + (count == 1 ? "" : "s");
}

// ---- one build

class Builder {
 public:
  Builder(const BuildJob& job, const Environment& environment, const Lock& lock, const Store& store,
          std::string id, Progress& progress)
      : job_(job),
        environment_(environment),
        lock_(lock),
        store_(store),
        id_(std::move(id)),
        threads_(thread_count(job.jobs)),
        progress_(progress) {
    result_.id = id_;
    result_.prefix = store.prefix(id_);
  }

  // From the lock to a published prefix; the lease is the caller's.
  Result<BuildResult> build(const std::vector<Artifact>& artifacts) {
    auto sources = fetch_and_unpack(artifacts);
    if (!sources) return tl::unexpected(sources.error());
    auto plan = make_plan({result_.prefix, job_.options, std::move(sources->conda), std::move(sources->wheels),
                           lock_.channels, lock_.variables});
    if (!plan) return tl::unexpected(plan.error());
    result_.packages = artifacts.size();
    add_notes(plan->notes);

    const std::string stage = store_.stage(id_, new_token());
    const auto filled = fill(*plan, stage);
    const auto published = filled ? publish(stage) : filled;
    if (published) return std::move(result_);
    [[maybe_unused]] const auto removed = remove_tree(stage);
    return tl::unexpected(published.error());
  }

 private:
  void add_notes(const std::vector<std::string>& notes) {
    result_.notes.insert(result_.notes.end(), notes.begin(), notes.end());
  }

  // Nothing in the cache was written out to the disk before it got its name, so a power failure can leave it
  // damaged, and people edit files there. Then it is made again: from its archive, and if that is no better
  // from the channel.
  Result<Sources> fetch_and_unpack(const std::vector<Artifact>& artifacts) {
    std::vector<Unpacked> unpacked(artifacts.size());
    std::vector<std::size_t> wanted(artifacts.size());
    std::iota(wanted.begin(), wanted.end(), std::size_t{0});
    while (!wanted.empty()) {
      auto damaged = unpack_all(artifacts, wanted, unpacked);
      if (!damaged) return tl::unexpected(damaged.error());
      wanted = std::move(*damaged);
      for (const std::size_t index : wanted)
        progress_.say("note: the cache had '" + artifacts[index].package.name +
                      "' damaged, so it is made again");
    }
    Sources sources;
    for (Unpacked& one : unpacked) {
      if (one.conda) sources.conda.push_back(std::move(*one.conda));
      if (one.wheel) sources.wheels.push_back(std::move(*one.wheel));
    }
    return sources;
  }

  // Each archive is unpacked as soon as it has arrived, while others are on their way. The result: those that
  // were damaged in the cache and are out of it now. What was fetched in this call and is damaged is an error.
  Result<std::vector<std::size_t>> unpack_all(const std::vector<Artifact>& artifacts,
                                              const std::vector<std::size_t>& wanted,
                                              std::vector<Unpacked>& unpacked) {
    const Needs needs = needs_of(artifacts);
    if (auto space = check_space(store_.directory(), needs.fetch_bytes + needs.unpack_bytes, 0); !space)
      return tl::unexpected(space.error());
    std::mutex mutex;
    std::vector<std::size_t> damaged;  // guarded by mutex
    Pool pool(threads_);
    const auto begin = [&](std::size_t index, Cached from) {
      pool.add([&, index, from]() -> Result<void> {
        auto done = from == Cached::archive ? check_archive(artifacts[index]) : Result<void>();
        if (done) done = unpack(artifacts[index], store_, unpacked[index]);
        // Not found: another process has just removed it for the same reason.
        const bool is_damaged =
            !done && (done.error().kind == ErrorKind::corrupt || done.error().kind == ErrorKind::not_found);
        if (!is_damaged || from == Cached::nothing) return done;
        if (auto removed = remove_from_cache(artifacts[index], from); !removed) return removed;
        const std::lock_guard guard(mutex);
        damaged.push_back(index);
        return {};
      });
    };
    progress_.stage("fetch");
    FetchJob job;
    job.proxies = job_.access.proxies;
    job.certificates = job_.access.certificates;
    std::vector<std::size_t> fetched;  // file of the job → artifact
    for (const std::size_t index : wanted) {
      const Artifact& artifact = artifacts[index];
      if (const Cached from = cached_of(artifact); from != Cached::nothing) {
        begin(index, from);
        continue;
      }
      const LockedPackage& package = artifact.package;
      job.files.push_back({opened(artifact.urls, job_.access.credentials), package.sha256, package.md5,
                           package.size, artifact.archive});
      fetched.push_back(index);
    }
    const auto done = run_fetch(job, needs, [&](std::size_t file) { begin(fetched[file], Cached::nothing); });
    if (!done) return tl::unexpected(done.error());
    progress_.stage("extract");
    progress_.now("extracting " + counted(wanted.size(), "package"));
    if (const auto finished = pool.finish(); !finished) return tl::unexpected(finished.error());
    return damaged;
  }

  template <class OnDone>
  Result<void> run_fetch(const FetchJob& job, const Needs& needs, const OnDone& on_done) {
    if (job.files.empty()) return {};
    std::vector<std::uint64_t> sizes(job.files.size());
    std::size_t done = 0;
    return fetch(job_.fetch_program, environment_, job, [&](const FetchEvent& event) {
      if (event.kind == FetchEvent::Kind::failed || event.file >= sizes.size()) return;
      result_.fetched_size += event.bytes - sizes[event.file];
      sizes[event.file] = event.bytes;
      if (event.kind == FetchEvent::Kind::done) {
        ++done;
        ++result_.fetched;
        on_done(event.file);
      }
      const std::string total = needs.fetch_bytes > 0 ? " of " + format_size(needs.fetch_bytes) : "";
      progress_.now("fetching: " + std::to_string(done) + " of " + counted(sizes.size(), "package") + ", " +
                    format_size(result_.fetched_size) + total);
    });
  }

  Result<void> fill(const Plan& plan, const std::string& stage) {
    if (auto space = check_space(store_.directory(), copied_bytes(plan), plan.directories.size()); !space)
      return space;
    if (::mkdir(stage.c_str(), 0700) != 0) return fail_errno(errno, "create", stage);
    if (::chmod(stage.c_str(), 0755) != 0) return fail_errno(errno, "set the mode of", stage);
    progress_.stage("link");
    auto executed = execute_plan(plan, stage, threads_, [&](std::size_t done, std::size_t total) {
      progress_.now("linking: " + std::to_string(done) + " of " + counted(total, "file"));
    });
    if (!executed) return tl::unexpected(executed.error());
    progress_.stage("compile");
    if (job_.options.compile) {
      progress_.now("compiling " + counted(plan.compile.size(), "python source"));
      if (auto done = compile_sources(plan, stage, threads_, *executed); !done) return done;
    }
    progress_.stage("record");
    if (auto done = write_records(plan, stage, *executed); !done) return done;
    return record(plan, stage);
  }

  // Files that change with the prefix are written anew, and so is all that pinstep makes itself.
  static std::uint64_t copied_bytes(const Plan& plan) {
    std::uint64_t bytes = 0;
    for (const PlannedFile& file : plan.files)
      bytes +=
          file.kind == PlannedFile::Kind::link ? 0 : std::max<std::uint64_t>(file.size, file.content.size());
    return bytes;
  }

  // What no step could read is not published.
  static Result<void> check_activation(const std::string& text) {
    constexpr const char* kHint =
        "a script in etc/conda/activate.d, or 'variables:', sets too much or what is no variable";
    if (text.size() > Activation::kSizeLimit)
      return fail(ErrorKind::invalid,
                  "the activation of the environment has " + format_size(text.size()) + ", and a step reads " +
                      format_size(Activation::kSizeLimit) + " at most",
                  kHint);
    const auto activation = Activation::parse(text, "the activation of the environment");
    if (!activation) return fail(ErrorKind::invalid, activation.error().cause, kHint);
    return {};
  }

  Result<void> record(const Plan& plan, const std::string& stage) {
    const auto recording = record_activation({stage, result_.prefix, lock_.variables});
    if (!recording) return tl::unexpected(recording.error());
    const std::string activation = format_recording(id_, *recording);
    if (const auto readable = check_activation(activation); !readable) return readable;
    add_notes(recording->notes);
    const std::string directory = records_directory(stage);
    if (::mkdir(directory.c_str(), 0755) != 0 && errno != EEXIST) return fail_errno(errno, "create", directory);
    std::uint64_t bytes = 0;
    for (const PlannedFile& file : plan.files) bytes += file.size + file.content.size();
    const Origin origin{job_.name,          sha256_hex(job_.lock_text), job_.platform,
                        std::time(nullptr), result_.packages,           bytes};
    for (const auto& [path, text] :
         {std::pair{activation_path(stage), activation}, std::pair{id_file(stage), id_ + "\n"},
          std::pair{origin_file(stage), format_origin(origin)}})
      if (auto written = write_once(path, text); !written) return written;
    const auto hash = tree_hash(stage, result_.prefix, threads_, known_digests(plan));
    if (!hash) return tl::unexpected(hash.error());
    result_.tree_hash = *hash;
    if (auto written = write_once(tree_hash_file(stage), *hash + "\n"); !written) return written;
    return seal(plan, stage);
  }

  Result<void> publish(const std::string& stage) {
    progress_.stage("publish");
    progress_.now("publishing");
    const std::string parent = store_.directory() + "/e";
    const UniqueFd directory(::open(parent.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    // Before the name: after a power failure a prefix must not be there without its content.
    if (!directory.valid() || ::syncfs(directory.get()) != 0) return fail_errno(errno, "write out", stage);
    if (::rename(stage.c_str(), result_.prefix.c_str()) != 0)
      return fail_errno(errno, "publish", result_.prefix);
    [[maybe_unused]] const int synced = ::fsync(directory.get());
    result_.built = true;
    return {};
  }

  const BuildJob& job_;
  const Environment& environment_;
  const Lock& lock_;
  const Store& store_;
  const std::string id_;
  const int threads_;
  Progress& progress_;
  BuildResult result_;
};

// ---- one of many

Result<std::optional<BuildResult>> already_published(const std::vector<Store>& stores, const std::string& id,
                                                     const Trust& trust, std::size_t packages) {
  const auto found = find_usable(stores, id, trust);
  if (!found) return tl::unexpected(found.error());
  if (!*found) return std::optional<BuildResult>();
  BuildResult result;
  result.id = id;
  result.prefix = (*found)->prefix;
  result.packages = packages;
  if (const auto hash = read_file(tree_hash_file(result.prefix), 128)) result.tree_hash = trim(hash->text);
  return std::optional(std::move(result));
}

std::vector<Store> all_stores(const BuildJob& job) {
  std::vector<Store> all{Store(job.store)};
  for (const std::string& directory : job.stores)
    if (directory != job.store) all.emplace_back(directory);
  return all;
}

Progress::Style style_of(const BuildJob& job) {
  if (job.quiet) return Progress::Style::quiet;
  return job.progress ? Progress::Style::terminal : Progress::Style::lines;
}

// A store that cannot be written to is none the worse for what is in it.
void keep_lock_text(const Store& store, const std::string& text) {
  [[maybe_unused]] const auto kept = write_once(store.lock_text(sha256_hex(text)), text);
}

void advise_on_length(const std::string& prefix, Progress& progress) {
  if (prefix.size() > kStorePathAdvice)
    progress.say("note: the prefix is " + std::to_string(prefix.size()) + " bytes long; over " +
                 std::to_string(kStorePathAdvice) + " some packages cannot be installed");
}

}  // namespace

Result<BuildResult> build_prefix(const BuildJob& job, const Environment& environment) {
  if (::geteuid() == 0) return tl::unexpected(refused_to_root());
  const auto lock = parse_lock(job.lock_text, job.lock_path);
  if (!lock) return tl::unexpected(lock.error());
  const auto packages = lock->packages_for(job.platform);
  if (!packages) return tl::unexpected(packages.error());
  const auto id = environment_id(*lock, job.platform, job.options);
  if (!id) return tl::unexpected(id.error());

  const std::vector<Store> stores = all_stores(job);
  const Trust trust{::geteuid(), job.trusted_uids};
  const auto there = already_published(stores, *id, trust, packages->size());
  if (!there) return tl::unexpected(there.error());
  if (*there) {
    if (const auto store = prepare_one(stores)) keep_lock_text(*store, job.lock_text);
    return **there;
  }
  const auto prepared = store_to_build_in(stores, *id);
  if (!prepared) return tl::unexpected(prepared.error());
  const Store& store = *prepared;
  keep_lock_text(store, job.lock_text);
  const auto all = artifacts(*packages, job.channel_urls, store);
  if (!all) return tl::unexpected(all.error());

  SystemClock clock;
  Progress progress(style_of(job), job.verbose && !job.quiet, clock);
  advise_on_length(store.prefix(*id), progress);
  const auto published = [&] {
    // Opening a directory makes an NFS client ask again for names that it remembers as absent.
    const UniqueFd fresh(::open((store.directory() + "/e").c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    auto found = already_published({store}, *id, trust, packages->size());
    return found ? std::move(*found) : std::nullopt;
  };
  for (int tries = 1;; ++tries) {
    const auto lease = LeaseTaker::take(
        store.build_lease(short_id(*id)), {}, [&] { return published().has_value(); },
        [&](const std::string& holder) { progress.say("waiting for the build by " + holder); });
    if (!lease) return tl::unexpected(lease.error());
    if (*lease) {
      remove_dead_stages(store, *id);
      const auto broken = move_broken_aside(store, *id);
      if (!broken) return tl::unexpected(broken.error());
      if (*broken) progress.say("note: '" + store.prefix(*id) + "' is damaged and is now '" + **broken + "'");
      auto result = Builder(job, environment, *lock, store, *id, progress).build(*all);
      // Whoever took the lease from us, as from a machine that slept, has removed our stage or published.
      auto found = result ? std::nullopt : published();
      if (found) return std::move(*found);
      if (result || (*lease)->held() || tries == kTries) return result;
      continue;
    }
    if (auto found = published()) return std::move(*found);
  }
}

}  // namespace pinstep
