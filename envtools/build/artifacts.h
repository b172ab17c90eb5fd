// Where each artifact of a lock comes from and where it lies in the package cache.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "envtools/base/error.h"
#include "envtools/lock/lock.h"
#include "envtools/store/store.h"

namespace pinstep {

// Base URL of a channel in the lock → base URLs here: the configuration's, not those of the lock's maker.
using ChannelUrls = std::map<std::string, std::vector<std::string>>;

struct Artifact {
  LockedPackage package;
  std::vector<std::string> urls;  // to fetch from, in order; without credentials
  std::string archive;            // absolute; the downloaded file
  std::string directory;          // absolute; it unpacked. There as a whole or not at all
  std::string stem;               // conda: NAME-VERSION-BUILD
};

// Errors: invalid (an artifact without sha256, one that is neither conda package nor wheel).
Result<std::vector<Artifact>> artifacts(const std::vector<LockedPackage>& packages,
                                        const ChannelUrls& channel_urls, const Store& store);

// What the cache has of an artifact.
enum class Cached { nothing, archive, directory };
Cached cached_of(const Artifact& artifact);

// What a build needs at least, by what the lock says of sizes: downloads, and about twice that for what is in
// them. A prefix that is linked to the cache takes little more.
struct Needs {
  std::size_t archives = 0;        // to be fetched
  std::uint64_t fetch_bytes = 0;   // of them; those of unknown size count as 0
  std::uint64_t unpack_bytes = 0;  // at least
};
Needs needs_of(const std::vector<Artifact>& artifacts);

// Errors: no_space, with both numbers; os.
Result<void> check_space(const std::string& directory, std::uint64_t bytes, std::uint64_t files);

}  // namespace pinstep
