// Lists and masks of processors that are accepted are the same after they were written again; the list of a set
// is one that says no number twice.
#include "launcher/machine/bits.h"
#include "tests/fuzz/check.h"

using namespace pinstep;

namespace {

void check_set(const Bits& bits) {
  CHECK(Bits::parse(bits.text()) == bits);
  CHECK(bits.numbers().size() == bits.count());
  for (const std::uint32_t number : bits.numbers()) CHECK(number < Bits::kLimit && bits.has(number));
  CHECK(bits.is_within(bits) && bits.meets(bits) == !bits.empty());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  if (const auto list = Bits::parse(text)) check_set(*list);
  if (const auto mask = Bits::parse_mask(text)) check_set(*mask);
  return 0;
}
