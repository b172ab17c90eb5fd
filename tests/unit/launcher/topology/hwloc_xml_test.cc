#include "launcher/topology/hwloc_xml.h"

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

TEST(HwlocXml, PassesVersions1And2AsTheyAre) {
  for (const std::string text : {"<topology><object type=\"Machine\" cpuset=\"0x1\"/></topology>",
                                 "<!DOCTYPE topology SYSTEM \"hwloc2.dtd\">\n<topology version=\"2.0\"/>"})
    EXPECT_EQ(xml_for_hwloc(text, "x.xml"), text);
}

TEST(HwlocXml, RewritesVersion3) {
  const auto xml = xml_for_hwloc(
      R"(<topology version="3.0"><object type="OSDev" osdev_type="48"/><object type="OSDev" osdev_type="16"/>)"
      R"(<object type="OSDev" osdev_type="4"/><pci_locality domain="0x0"/><pci_locality domain="0x1"/></topology>)",
      "x.xml");
  EXPECT_EQ(
      xml,
      R"(<topology version="2.0"><object type="OSDev" osdev_type="3"/><object type="OSDev" osdev_type="2"/>)"
      R"(<object type="OSDev" osdev_type="0"/></topology>)");
}

TEST(HwlocXml, RefusesWhatHwlocWouldStumbleOver) {
  const struct {
    const char* text;
    ErrorKind kind;
    const char* cause;
  } cases[] = {
      {"", ErrorKind::corrupt, "'x.xml' is neither hwloc's XML nor a topology file of NCCL"},
      {"<a><topology/></a>", ErrorKind::corrupt, "'x.xml' is neither hwloc's XML nor a topology file of NCCL"},
      {"<topology version='2'>\n<object", ErrorKind::corrupt,
       "'x.xml', line 2: error parsing start element tag"},
      {"<topology version='two'/>", ErrorKind::corrupt, "'x.xml' has no version that hwloc could have written"},
      {"<topology version='4.1'/>", ErrorKind::unsupported,
       "'x.xml' is in version 4.1 of hwloc's XML, and this pinstep knows 1 to 3"},
      {"<topology><object type='Machine' cpuset='0x1'><object type='Core'/></object></topology>",
       ErrorKind::corrupt, "'x.xml' has an object of type 'Core' without a cpuset"},
      {"<topology version='3.0'><object/></topology>", ErrorKind::corrupt,
       "'x.xml' has an object of type '' without a cpuset"},
      {"<!DOCTYPE topology [<!ENTITY a 'b'>]><topology/>", ErrorKind::corrupt,
       "'x.xml' declares entities, which no topology needs"},
  };
  for (const auto& [text, kind, cause] : cases) {
    const auto xml = xml_for_hwloc(text, "x.xml");
    ASSERT_FALSE(xml) << text;
    EXPECT_EQ(xml.error().kind, kind) << text;
    EXPECT_EQ(xml.error().cause, cause);
  }
}

}  // namespace
}  // namespace pinstep
