// A checkpoint that is accepted has arrays that lie in its data as they say, and is read again as it was
// written.
#include "launcher/worker/checkpoint/checkpoint.h"

#include "envtools/hash/hash.h"
#include "tests/fuzz/check.h"

using namespace pinstep;
using namespace pinstep::worker;

namespace {

constexpr std::size_t kLength = 8, kDigest = 64;
constexpr std::string_view kStart = R"({"__metadata__":{"format":"pinstep-checkpoint 1","sha256":")";

// Makes length and checksum right, which no fuzzer finds: the head ends at the first zero byte.
std::string repaired(std::string_view input) {
  const std::string rest(fuzz::take_text(input));
  const std::string zeros = std::string(kStart) + std::string(kDigest, '0') + rest;
  std::string length(kLength, '\0');
  for (std::size_t i = 0; i < kLength; ++i) length[i] = static_cast<char>(zeros.size() >> 8 * i & 0xff);
  std::string file = length + zeros + std::string(input);
  return file.replace(kLength + kStart.size(), kDigest, sha256_hex(file));
}

void try_one(std::string_view bytes) {
  const auto checkpoint = parse_checkpoint(bytes, "input");
  if (!checkpoint) {
    CHECK(checkpoint.error().kind == ErrorKind::corrupt || checkpoint.error().kind == ErrorKind::unsupported);
    return;
  }
  std::size_t end = 0;
  for (const SavedArray& array : checkpoint->arrays) {
    std::size_t elements = 1;
    for (const std::size_t size : array.shape) elements *= size;
    CHECK(array.offset == end && array.bytes == elements * size_of(array.type));
    end += array.bytes;
  }
  CHECK(end == checkpoint->data.size());
  CHECK(checkpoint->position.epoch > 0 && checkpoint->ranks > 0);
  const auto again = parse_checkpoint(head_of(*checkpoint) + checkpoint->data, "input");
  CHECK(again && *again == *checkpoint);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::as_text(data, size);
  try_one(input);
  try_one(repaired(input));
  return 0;
}
