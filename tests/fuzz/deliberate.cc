// Who runs the fuzzers must see this one crash: a fuzzer that finds nothing here would find nothing anywhere.
#include "tests/fuzz/check.h"

using namespace pinstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  CHECK(!fuzz::as_text(data, size).starts_with("fail"));
  return 0;
}
