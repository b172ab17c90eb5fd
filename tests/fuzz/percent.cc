// Any text comes back from its escaped form, which is printable; what decodes comes back from its own.
// Input: the special characters, a zero byte, the text.
#include "envtools/base/text.h"
#include "tests/fuzz/check.h"

using namespace pinstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view text = fuzz::as_text(data, size);
  const std::string_view special = fuzz::take_text(text);

  const std::string encoded = percent_encode(text, special);
  CHECK(percent_decode(encoded) == text);
  for (const char c : encoded) CHECK(c > 0x20 && c < 0x7f);
  CHECK(encoded.size() <= 3 * text.size());

  const auto decoded = percent_decode(text);
  CHECK(decoded || text.find('%') != std::string_view::npos);
  if (decoded) {
    CHECK(decoded->size() <= text.size());
    CHECK(percent_decode(percent_encode(*decoded, special)) == *decoded);
  }
  return 0;
}
