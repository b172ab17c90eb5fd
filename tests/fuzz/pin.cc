// A pin that is accepted keeps what its format promises and is the same after it was written again.
#include "envtools/pin/pin.h"

#include <algorithm>
#include <set>

#include "tests/fuzz/check.h"

using namespace pinstep;

namespace {

bool is_absolute(const std::string& path) {
  return path.starts_with('/') && path.find('\0') == std::string::npos;
}

void check_accepted(const Pin& pin) {
  CHECK(pin.token.size() == 16);
  CHECK(pin.lock == "-" || pin.lock.size() == 64);
  CHECK(std::all_of(pin.overlays.begin(), pin.overlays.end(), is_absolute));
  CHECK(!pin.prefixes.empty());
  std::set<std::string> platforms;
  for (const PinnedPrefix& entry : pin.prefixes) {
    CHECK(platforms.insert(entry.platform).second);
    CHECK(is_absolute(entry.prefix));
    CHECK(pin.prefix_for(entry.platform) == entry);
    if (pin.kind == Pin::Kind::foreign)
      CHECK(entry.id == "-");
    else
      CHECK(entry.prefix == pin.store + "/e/" + entry.id.substr(0, 16));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::as_text(data, size);
  const auto pin = Pin::parse(input);
  if (!pin) {
    CHECK(pin.error().kind == ErrorKind::invalid);
    CHECK(!pin.error().cause.empty());
    return 0;
  }
  CHECK(input.size() <= Pin::kSizeLimit);
  check_accepted(*pin);
  const std::string text = pin->text();
  CHECK(text.size() <= Pin::kSizeLimit);
  CHECK(std::all_of(text.begin(), text.end(), [](char c) { return c >= 0x20 && c < 0x7f; }));
  CHECK(Pin::parse(text) == *pin);
  return 0;
}
