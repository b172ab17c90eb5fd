// IDX, the format of MNIST and its successors, plain or gzip.
//
//   0 0 TYPE DIMENSIONS   TYPE 8: unsigned bytes, the only one read here; 1 to 4 dimensions
//   DIMENSIONS sizes      32 bits each, big-endian
//   the elements          last dimension fastest; nothing may follow
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep::worker {

struct Idx {
  std::vector<std::uint32_t> sizes;
  std::string elements;  // as many bytes as the product of the sizes
};

// `subject` stands in the messages. Errors: corrupt.
Result<Idx> parse_idx(std::string_view bytes, std::string_view subject);

// What a gzip file holds, one member after the other; anything that is not gzip is returned as it is.
// Errors: corrupt (also if it unpacks to more than `limit` bytes).
Result<std::string> unpack_gzip(std::string_view bytes, std::size_t limit, std::string_view subject);

// Errors: those of reading a file, and corrupt.
Result<Idx> read_idx(const std::string& path);

}  // namespace pinstep::worker
