// The directory of a zip file: where its members lie. Read from the end, as zip means it, so that the order
// of members, data descriptors and zip64 do not matter. Only stored members can be used.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep {

struct ZipMember {
  std::string name;
  std::uint64_t offset = 0;  // of its bytes in the file
  std::uint64_t size = 0;
  bool stored = false;  // neither compressed nor encrypted
};

// Exactly `size` bytes of the file from `offset`; only ever asked for what lies inside it.
using ReadAt = std::function<Result<std::string>(std::uint64_t offset, std::size_t size)>;

// Errors: corrupt, unsupported, naming `subject`; those of `read`.
Result<std::vector<ZipMember>> read_zip_directory(const ReadAt& read, std::uint64_t file_size,
                                                  std::string_view subject);

}  // namespace pinstep
