#include "envtools/cli/completing.h"

#include <algorithm>
#include <cstdio>

#include "envtools/base/text.h"
#include "envtools/build/artifacts.h"
#include "envtools/channel/access.h"
#include "envtools/fetch/fetch.h"
#include "envtools/hash/hash.h"
#include "envtools/pin/pin.h"

namespace pinstep::cli {
namespace {

// Of the content with whole URLs: a list with relative paths is another one elsewhere.
std::string completion_key(const Lock& lock) { return sha256_hex("pinstep-list 1\n" + write_lock(lock)); }

// The line that ends in a package's file name.
std::size_t line_of(const ChosenLock& list, const LockedPackage& package) {
  const std::string file = package.url.substr(package.url.rfind('/') + 1);
  const auto lines = split(list.file.text, '\n');
  const auto found = std::find_if(lines.begin(), lines.end(),
                                  [&](std::string_view line) { return trim(line).ends_with(file); });
  return found == lines.end() ? 1 : static_cast<std::size_t>(found - lines.begin()) + 1;
}

// A lock of several platforms is completed for this one: nothing of the others is fetched.
Lock for_this_platform(Lock lock) {
  const std::string_view platform = own_platform();
  if (std::find(lock.platforms.begin(), lock.platforms.end(), platform) == lock.platforms.end()) return lock;
  lock.platforms = {std::string(platform)};
  std::erase_if(lock.packages, [&](const LockedPackage& package) { return package.platform != platform; });
  return lock;
}

Result<void> check_hashes(const ChosenLock& list) {
  if (list.lock.origin != Lock::Origin::explicit_list) return {};
  for (const LockedPackage& package : list.lock.packages)
    if (package.sha256.empty() && package.md5.empty())
      return fail(ErrorKind::invalid,
                  list.file.path + ":" + std::to_string(line_of(list, package)) + ": '" + package.name +
                      "' has no hash, so what is fetched cannot be checked",
                  "'conda list --explicit --sha256' writes a list with hashes; 'pinstep lock --fetch-hashes " +
                      shell_quote(list.file.path) + "' trusts what is fetched and makes a lock of it");
  return {};
}

class Completing {
 public:
  Completing(const World& world, const Place& place, Progress& progress, Unhashed unhashed)
      : world_(world), place_(place), progress_(progress), unhashed_(unhashed) {}

  // Fetches what has no sha256, aside, for its name in the cache is made of it.
  Result<Lock> complete(Lock lock) const {
    const auto store = prepare_store(place_.stores.front());
    if (!store) return tl::unexpected(store.error());
    const auto channels = load_channel_config(world_.environment, place_.settings.channels);
    if (!channels) return tl::unexpected(channels.error());
    const Access access = access_of(*channels);
    FetchJob job;
    job.proxies = access.proxies;
    job.certificates = access.certificates;
    std::vector<LockedPackage*> packages;
    for (LockedPackage& package : lock.packages) {
      if (!package.sha256.empty() || (package.md5.empty() && unhashed_ == Unhashed::refused)) continue;
      const std::string aside =
          store->archives() + (package.md5.empty() ? "/url-" + sha256_hex(package.url) : "/md5-" + package.md5);
      job.files.push_back({{with_credentials(package.url, access.credentials)}, "", package.md5, 0, aside});
      packages.push_back(&package);
    }
    std::size_t done = 0;
    const auto fetched =
        fetch(private_file("pinstep-fetch"), world_.environment, job, [&](const FetchEvent& event) {
          if (event.kind == FetchEvent::Kind::done && event.file < packages.size()) {
            packages[event.file]->sha256 = event.sha256;
            packages[event.file]->size = event.bytes;
            ++done;
          }
          progress_.show("fetching " + std::to_string(done) + " of " + std::to_string(packages.size()) +
                         " packages");
        });
    progress_.clear();
    if (!fetched) return tl::unexpected(fetched.error());
    if (auto moved = into_cache(lock, job, packages, *store); !moved) return tl::unexpected(moved.error());
    return lock;
  }

 private:
  static Result<void> into_cache(const Lock& lock, const FetchJob& job,
                                 const std::vector<LockedPackage*>& packages, const Store& store) {
    const auto all = artifacts(lock.packages, {}, store);
    if (!all) return tl::unexpected(all.error());
    for (std::size_t i = 0; i < job.files.size(); ++i)
      for (const Artifact& artifact : *all)
        if (artifact.package.url == packages[i]->url &&
            ::rename(job.files[i].path.c_str(), artifact.archive.c_str()) != 0 &&
            errno != ENOENT)  // two entries of one content are one file
          return fail_errno(errno, "rename a download to", artifact.archive);
    return {};
  }

  const World& world_;
  const Place& place_;
  Progress& progress_;
  Unhashed unhashed_;
};

}  // namespace

bool is_complete(const Lock& lock) {
  const bool list = lock.origin == Lock::Origin::explicit_list;
  return std::none_of(lock.packages.begin(), lock.packages.end(), [&](const LockedPackage& package) {
    return package.sha256.empty() && (list || !package.md5.empty());
  });
}

std::optional<KeptLock> find_completed(const Place& place, const Lock& lock) {
  return find_solved(place.stores, completion_key(for_this_platform(lock)), place.trust);
}

Result<ChosenLock> completed(const World& world, const Place& place, ChosenLock list, Progress& progress,
                             Unhashed unhashed) {
  if (is_complete(list.lock)) return list;
  const Lock named = for_this_platform(list.lock);
  if (const auto hashed = check_hashes(list); !hashed && unhashed == Unhashed::refused)
    return tl::unexpected(hashed.error());
  auto kept = find_completed(place, named);
  if (!kept) {
    auto solved = solve_once(
        place.stores, completion_key(named), place.trust,
        [&] { return Completing(world, place, progress, unhashed).complete(named); },
        [&](const std::string& holder) {
          std::fprintf(stderr, "pinstep: waiting for %s, who is fetching the same packages\n",
                       printable(holder).c_str());
        });
    if (!solved) return tl::unexpected(solved.error());
    kept = std::move(solved->lock);
  }
  auto lock = parse_lock(kept->text, kept->path);
  if (!lock) return tl::unexpected(lock.error());
  return ChosenLock{{kept->path, std::move(kept->text)}, std::move(*lock), list.name};
}

}  // namespace pinstep::cli
