// What pinstep writes about a prefix into <prefix>/conda-meta/pinstep/. Format: FORMAT.md beside this file.
//
//   id           64 hex digits           not part of the tree hash
//   activation   activation/FORMAT.md    part of the tree hash
//   tree.sha256  the tree hash           not part of it, of course
//   origin       name, lock, time        not part of it: two users may build one environment
#pragma once

#include <cstdint>
#include <string>

#include "envtools/base/error.h"

namespace pinstep {

std::string records_directory(const std::string& prefix);
std::string id_file(const std::string& prefix);
std::string tree_hash_file(const std::string& prefix);
std::string origin_file(const std::string& prefix);

// Where a prefix came from.
struct Origin {
  std::string name;        // of the spec, may be empty
  std::string lock = "-";  // sha256 of the lock's text, "-" if unknown
  std::string platform;
  std::int64_t built = 0;  // seconds since the epoch
  std::uint64_t packages = 0;
  std::uint64_t bytes = 0;  // of its files, shared with the cache or not

  bool operator==(const Origin&) const = default;
};

std::string format_origin(const Origin& origin);
// An origin that cannot be read counts as none: it decides nothing.
Origin read_origin(const std::string& prefix);

}  // namespace pinstep
