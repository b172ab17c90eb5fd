// A message of the worker's store is the same after it was written again, and only what cannot become one is
// called broken.
#include "launcher/worker/store/wire.h"

#include "tests/fuzz/check.h"

using namespace pinstep;
using namespace pinstep::worker;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string bytes(fuzz::as_text(data, size));
  bool is_broken = false;
  while (true) {
    const std::string before = bytes;
    const auto message = take_message(bytes, is_broken);
    if (!message) {
      CHECK(bytes == before);
      break;
    }
    CHECK(!is_broken);
    CHECK(encode(*message) + bytes == before);
  }
  // What is not broken becomes a message when the rest of it comes.
  if (is_broken || bytes.size() < 4) return 0;
  bytes.append(kMessageLimit, '\0');
  const auto message = take_message(bytes, is_broken);
  CHECK(message || is_broken);
  return 0;
}
