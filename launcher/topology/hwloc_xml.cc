#include "launcher/topology/hwloc_xml.h"

#include <hwloc.h>

#include <algorithm>
#include <array>
#include <sstream>

#include "envtools/base/text.h"
#include "launcher/topology/xml.h"

namespace pinstep {
namespace {

constexpr std::array<std::string_view, 4> kWithoutCpuset{"Bridge", "PCIDev", "OSDev", "Misc"};

// hwloc 3 describes a device by all that it is, hwloc 2 by one thing of it.
unsigned type_in_version_2(unsigned types) {
  constexpr unsigned network = 16, openfabrics = 32;  // of hwloc 3
  if ((types & openfabrics) != 0) return HWLOC_OBJ_OSDEV_OPENFABRICS;
  if ((types & network) != 0) return HWLOC_OBJ_OSDEV_NETWORK;
  return HWLOC_OBJ_OSDEV_BLOCK;  // the map looks at no others
}

class ToVersion2 : public pugi::xml_tree_walker {
 public:
  bool for_each(pugi::xml_node& node) override {
    if (pugi::xml_attribute types = node.attribute("osdev_type"))
      types.set_value(type_in_version_2(types.as_uint()));
    return true;
  }
};

// Stops at the first object that hwloc would stumble over.
class Objects : public pugi::xml_tree_walker {
 public:
  bool for_each(pugi::xml_node& node) override {
    if (std::string_view(node.name()) != "object") return true;
    wrong_type = node.attribute("type").value();
    return node.attribute("cpuset") ||
           std::find(kWithoutCpuset.begin(), kWithoutCpuset.end(), wrong_type) != kWithoutCpuset.end();
  }
  std::string_view wrong_type;
};

std::string in_version_2(pugi::xml_document& document) {
  ToVersion2 change;
  document.traverse(change);
  pugi::xml_node root = document.child("topology");
  root.attribute("version").set_value("2.0");
  while (root.remove_child("pci_locality")) continue;
  std::ostringstream text;
  document.save(text, "", pugi::format_raw | pugi::format_no_declaration);
  return text.str();
}

// Major; 1 where there is none, as hwloc 1 wrote it.
Result<unsigned> version_of(const pugi::xml_node& root, const std::string& name) {
  const pugi::xml_attribute attribute = root.attribute("version");
  if (!attribute) return 1U;
  const std::string_view version = attribute.value();
  const auto major = parse_number<unsigned>(version.substr(0, version.find('.')));
  if (!major) return fail(ErrorKind::corrupt, "'" + name + "' has no version that hwloc could have written");
  if (*major <= 3) return *major;
  return fail(
      ErrorKind::unsupported,
      "'" + name + "' is in version " + printable(version) + " of hwloc's XML, and this pinstep knows 1 to 3",
      "write it with an hwloc 3 or older");
}

}  // namespace

Result<std::string> xml_for_hwloc(std::string_view text, const std::string& name) {
  const auto is_neither = [&]() -> Result<std::string> {
    return fail(ErrorKind::corrupt, "'" + name + "' is neither hwloc's XML nor a topology file of NCCL",
                "lstopo FILE.xml writes one");
  };
  if (text.find("<topology") == std::string_view::npos) return is_neither();
  pugi::xml_document document;
  if (const auto done = parse_xml(text, name, document); !done) return tl::unexpected(done.error());
  const pugi::xml_node root = document.child("topology");
  if (!root) return is_neither();
  const auto version = version_of(root, name);
  if (!version) return tl::unexpected(version.error());
  if (Objects objects; !document.traverse(objects))
    return fail(ErrorKind::corrupt, "'" + name + "' has an object of type '" + printable(objects.wrong_type) +
                                        "' without a cpuset");
  return *version < 3 ? std::string(text) : in_version_2(document);
}

}  // namespace pinstep
