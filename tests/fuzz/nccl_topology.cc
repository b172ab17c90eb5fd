// A file of NCCL's is refused, or describes a machine whose parts are consistent, and whose map can be made;
// white space after it changes nothing.
#include "launcher/topology/nccl_topology.h"

#include "launcher/assign/make_map.h"
#include "tests/fuzz/check.h"
#include "tests/fuzz/machine.h"

using namespace pinstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  (void)is_nccl_topology(text);
  const auto told = parse_nccl_topology(text, "FILE");
  if (!told) {
    CHECK(told.error().kind == ErrorKind::corrupt || told.error().kind == ErrorKind::unsupported);
    return 0;
  }
  fuzz::check_machine(told->machine);
  for (const Gpu& gpu : told->machine.gpus) CHECK(told->places.at(gpu.address) == gpu.at);
  const auto again = parse_nccl_topology(std::string(text) + "\n", "FILE");
  CHECK(again && again->places == told->places);
  return 0;
}
