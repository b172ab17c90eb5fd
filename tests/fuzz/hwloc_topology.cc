// What hwloc gets to read is refused, or is XML that is not refused the next time, in a version that hwloc 2
// knows and in which all objects but devices have a cpuset. hwloc itself is not run: it trusts its files, and
// pinstep-map is a process of its own for that.
#include "launcher/topology/hwloc_xml.h"
#include "launcher/topology/xml.h"
#include "tests/fuzz/check.h"

using namespace pinstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto xml = xml_for_hwloc(fuzz::as_text(data, size), "FILE");
  if (!xml) {
    CHECK(xml.error().kind == ErrorKind::corrupt || xml.error().kind == ErrorKind::unsupported);
    return 0;
  }
  CHECK(xml_for_hwloc(*xml, "FILE") == *xml);
  pugi::xml_document document;
  CHECK(parse_xml(*xml, "FILE", document));
  CHECK(document.child("topology").attribute("version").as_double(1) < 3);
  const pugi::xpath_node bare = document.select_node(
      "//object[not(@cpuset)][not(contains('|Bridge|PCIDev|OSDev|Misc|', concat('|', @type, '|')))]");
  CHECK(!bare);
  return 0;
}
