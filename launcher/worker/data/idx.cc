#include "launcher/worker/data/idx.h"

#include <zlib.h>

#include <algorithm>

#include "envtools/base/fd.h"

namespace pinstep::worker {
namespace {

constexpr std::size_t kFileLimit = std::size_t{1} << 30;  // MNIST's largest file has 47 MB
constexpr std::size_t kMostDimensions = 4;
constexpr char kUnsignedBytes = 8;

tl::unexpected<Error> corrupt(std::string_view subject, const std::string& why) {
  return fail(ErrorKind::corrupt, "'" + std::string(subject) + "' is no IDX file: " + why);
}

std::uint32_t big_endian(std::string_view four) {
  std::uint32_t value = 0;
  for (const char c : four) value = value << 8 | static_cast<unsigned char>(c);
  return value;
}

class Inflater {
 public:
  // Window bits 15, and 16 more for a gzip header.
  Inflater() { is_ready_ = inflateInit2(&stream_, 15 + 16) == Z_OK; }
  ~Inflater() {
    if (is_ready_) inflateEnd(&stream_);
  }
  Inflater(const Inflater&) = delete;
  Inflater& operator=(const Inflater&) = delete;

  // Appends what the next member holds and takes it off `bytes`. False if it is broken or too long.
  bool member(std::string_view& bytes, std::string& out, std::size_t limit) {
    if (!is_ready_ || inflateReset(&stream_) != Z_OK) return false;
    stream_.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
    stream_.avail_in = static_cast<uInt>(bytes.size());
    int status = Z_OK;
    while (status == Z_OK) {
      char chunk[65536];
      stream_.next_out = reinterpret_cast<Bytef*>(chunk);
      stream_.avail_out = sizeof chunk;
      status = inflate(&stream_, Z_NO_FLUSH);
      out.append(chunk, sizeof chunk - stream_.avail_out);
      if (out.size() > limit) return false;
    }
    bytes.remove_prefix(bytes.size() - stream_.avail_in);
    return status == Z_STREAM_END;
  }

 private:
  z_stream stream_{};
  bool is_ready_ = false;
};

}  // namespace

Result<Idx> parse_idx(std::string_view bytes, std::string_view subject) {
  if (bytes.size() < 4 || bytes[0] != 0 || bytes[1] != 0) return corrupt(subject, "it does not begin as one");
  if (bytes[2] != kUnsignedBytes)
    return corrupt(subject, "elements of type " + std::to_string(static_cast<unsigned char>(bytes[2])) +
                                ", only unsigned bytes (8) are read");
  const auto dimensions = static_cast<unsigned char>(bytes[3]);
  if (dimensions == 0 || dimensions > kMostDimensions)
    return corrupt(subject, std::to_string(dimensions) + " dimensions");
  bytes.remove_prefix(4);
  if (bytes.size() < dimensions * 4U) return corrupt(subject, "it ends in its head");
  Idx idx;
  std::uint64_t elements = 1;
  for (unsigned i = 0; i < dimensions; ++i, bytes.remove_prefix(4)) {
    idx.sizes.push_back(big_endian(bytes.substr(0, 4)));
    // Below 2^62 after each step: the limit on files keeps the next product from overflowing.
    elements = std::min<std::uint64_t>(elements * idx.sizes.back(), kFileLimit + 1);
    if (idx.sizes.back() == 0) return corrupt(subject, "a size is 0");
  }
  if (elements != bytes.size())
    return corrupt(subject,
                   "its sizes and its length (" + std::to_string(bytes.size()) + " elements) disagree");
  idx.elements = std::string(bytes);
  return idx;
}

Result<std::string> unpack_gzip(std::string_view bytes, std::size_t limit, std::string_view subject) {
  if (!bytes.starts_with("\x1f\x8b")) return std::string(bytes);
  Inflater inflater;
  std::string out;
  while (!bytes.empty())
    if (!inflater.member(bytes, out, limit))
      return fail(ErrorKind::corrupt, out.size() > limit
                                          ? "'" + std::string(subject) + "' unpacks to more than " +
                                                std::to_string(limit) + " bytes"
                                          : "'" + std::string(subject) + "' is broken gzip");
  return out;
}

Result<Idx> read_idx(const std::string& path) {
  const auto file = read_file(path, kFileLimit, Links::followed);
  if (!file) return tl::unexpected(file.error());
  const auto bytes = unpack_gzip(file->text, kFileLimit, path);
  if (!bytes) return tl::unexpected(bytes.error());
  return parse_idx(*bytes, path);
}

}  // namespace pinstep::worker
