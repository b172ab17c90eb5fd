// From an archive's bytes to the members of a tree.
#pragma once

#include <cstdint>
#include <string>

#include "envtools/package/tree.h"

namespace pinstep {

// Part of a file: a zstd-compressed tar inside a .conda.
struct FilePart {
  int fd = -1;  // read with pread(2); stays the caller's
  std::uint64_t offset = 0;
  std::uint64_t size = 0;
};

// `archive` is named in messages. Errors: corrupt, refused, unsupported, no_space, os.
Result<void> unpack_zstd_tar(const FilePart& part, const std::string& archive, Tree& tree);
Result<void> unpack_bzip2_tar(int fd, const std::string& archive, Tree& tree);
// A zip whose members are the tree's: a wheel.
Result<void> unpack_zip(int fd, const std::string& archive, Tree& tree);

// Extracts an archive into a directory that exists; what extract_package() and the cache are made of.
Result<ExtractedTree> extract_archive(const std::string& archive, const std::string& directory);

}  // namespace pinstep
