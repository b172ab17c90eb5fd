// An offer that is accepted is the same after it was written again; what it is written as is printable.
#include "launcher/step/offer.h"

#include "tests/fuzz/check.h"

using namespace pinstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto offer = Offer::parse(fuzz::as_text(data, size));
  if (!offer) return 0;
  CHECK(!offer->node.empty());
  for (const std::string& address : offer->addresses) CHECK(!address.empty());
  const std::string text = offer->text();
  for (const char c : text) CHECK(c > 0x20 && c < 0x7f);
  CHECK(Offer::parse(text) == offer);
  return 0;
}
