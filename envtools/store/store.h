// The store: names, and who may be believed. Everything under a store's directory is named here and
// nowhere else. Format and promises: FORMAT.md beside this file.
//
//   VERSION              "1"
//   e/<id16>             prefixes, immutable; e/.stage-<id16>-<token> one being built,
//                        e/.broken-<id16>-<token> one that was found damaged,
//                        e/.removed-<id16>-<token> one that is being removed
//   l/<lock digest>.yml  lock texts        s/<spec key>   the digest of its lock
//   c/                   package cache     c/archives/, c/pkgs/, c/wheels/, or these in c/<uid>/
//   t/<tag>              tags              b/<name>       build leases
//   u/                   submit leases and use records (pin/use.h)
#pragma once

#include <sys/types.h>

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/activation/activation.h"
#include "envtools/base/environment.h"
#include "envtools/base/error.h"

namespace pinstep {

// The first 16 digits, which name the prefix in its store and the environment in what people read.
std::string short_id(std::string_view id);

// What a name in e/ that begins with a dot says; nothing for other names.
struct HiddenName {
  enum class Kind { stage, broken, removed };

  Kind kind = Kind::stage;
  std::string id16;
};
std::optional<HiddenName> parse_hidden(std::string_view name);

class Store {
 public:
  explicit Store(std::string directory) : directory_(std::move(directory)), cache_(directory_ + "/c") {}

  const std::string& directory() const { return directory_; }
  std::string prefix(std::string_view id) const;  // of a whole id: <store>/e/<first 16 digits>
  std::string stage(std::string_view id, std::string_view token) const;
  std::string broken(std::string_view id, std::string_view token) const;
  std::string removed(std::string_view id, std::string_view token) const;
  std::string lock_text(std::string_view digest) const;
  std::string solved(std::string_view spec_key) const;
  std::string archives() const;
  std::string packages() const;
  std::string wheels() const;
  std::string tag(std::string_view tag) const;
  std::string build_lease(std::string_view name) const;
  std::string use_directory() const;

  // The same store with this user's part of the package cache. In a store that a group shares nobody builds
  // from what another member has put into the cache.
  Store with_cache_of(uid_t user) const;

 private:
  std::string hidden(HiddenName::Kind kind, std::string_view id, std::string_view token) const;

  std::string directory_;
  std::string cache_;
};

inline constexpr std::size_t kStorePathAdvice = 80;  // bytes of a prefix's path; longer is warned about

// PINSTEP_STORE, else the configured list, else $XDG_DATA_HOME/pinstep or ~/.local/share/pinstep; absolute.
// The first that can be written to is built into, all are searched. Errors: invalid (not absolute, an unset
// variable).
Result<std::vector<Store>> stores(const Environment& environment, const std::string& configured);

// Makes the directories and VERSION. Gives the store to build into, which has a cache of one's own if a group
// shares the store. Errors: unsupported (a newer store), refused, no_space, os.
Result<Store> prepare_store(const Store& store);

// The first of the stores that can be prepared and written to: what is new goes there, the others are only
// searched. Errors: that of the first store.
Result<Store> prepare_one(const std::vector<Store>& stores);

// What lies published under an id. A prefix by somebody untrusted counts as absent.
struct Published {
  std::string id;          // 64 digits
  std::string prefix;      // absolute
  std::string name;        // of the spec, may be empty
  std::string lock;        // digest of the lock's text, "-" if unknown
  std::int64_t built = 0;  // seconds since the epoch
  std::uint64_t packages = 0;
  std::uint64_t bytes = 0;  // of its files
};
// The id that a tag of the store stands for; nothing where there is no such tag.
std::optional<std::string> tagged_id(const Store& store, std::string_view tag);
// Where it lies.
Store store_of(const Published& published);
// Errors: conflict (same first digits, another id), corrupt.
Result<std::optional<Published>> find_published(const std::vector<Store>& stores, std::string_view id,
                                                const Trust& trust);
// All of them, or those whose id begins so (at least 4 digits). Stores that nobody has built into count as
// empty. Errors: a store that cannot be read.
Result<std::vector<Published>> list_published(const std::vector<Store>& stores, const Trust& trust,
                                              std::string_view id_begins = {});

// Writes a small file aside and renames it; 0444.
Result<void> write_once(const std::string& path, std::string_view text);

// Names in a directory, sorted, without "." and ".."; none where it is absent. Errors: refused, os.
Result<std::vector<std::string>> directory_names(const std::string& path);

// Deletes a tree that may be read-only inside. Errors: os.
Result<void> remove_tree(const std::string& path);

}  // namespace pinstep
