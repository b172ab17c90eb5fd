// An XML file that hwloc could have written is refused, or describes a machine whose parts are consistent, and
// whose map can be made.
#include "launcher/topology/hwloc_topology.h"

#include "tests/fuzz/check.h"
#include "tests/fuzz/machine.h"

using namespace pinstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto machine = parse_hwloc_xml(fuzz::as_text(data, size), "FILE");
  if (machine)
    fuzz::check_machine(*machine);
  else
    CHECK(machine.error().kind == ErrorKind::corrupt || machine.error().kind == ErrorKind::unsupported);
  return 0;
}
