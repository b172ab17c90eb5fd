// An IDX file that is accepted, plain or gzip, has as many elements as its sizes say.
#include "launcher/worker/data/idx.h"

#include "launcher/worker/data/images.h"
#include "tests/fuzz/check.h"

using namespace pinstep;
using namespace pinstep::worker;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::size_t kLimit = 1 << 20;
  const auto bytes = unpack_gzip(fuzz::as_text(data, size), kLimit, "input");
  if (!bytes) {
    CHECK(bytes.error().kind == ErrorKind::corrupt);
    return 0;
  }
  CHECK(bytes->size() <= kLimit || *bytes == fuzz::as_text(data, size));
  auto idx = parse_idx(*bytes, "input");
  if (!idx) {
    CHECK(idx.error().kind == ErrorKind::corrupt);
    return 0;
  }
  std::size_t elements = 1;
  for (const std::uint32_t one : idx->sizes) elements *= one;
  CHECK(!idx->sizes.empty() && elements == idx->elements.size() && elements > 0);

  // With labels that fit it is a set of images.
  const std::uint32_t count = idx->sizes[0];
  Idx labels{{count}, std::string(count, '\x07')};
  const bool has_three = idx->sizes.size() == 3;
  const auto images = match(std::move(*idx), std::move(labels), "input");
  CHECK(images.has_value() == has_three);
  if (images) CHECK(images->count == count && images->values.size() == count * images->pixels());
  return 0;
}
