#include "launcher/topology/xml.h"

#include <algorithm>

namespace pinstep {
namespace {

constexpr int kMostDepth = 200;  // libxml2 itself stops at 256

class Depth : public pugi::xml_tree_walker {
 public:
  bool for_each(pugi::xml_node&) override { return depth() < kMostDepth; }
};

}  // namespace

Result<void> parse_xml(std::string_view text, std::string_view name, pugi::xml_document& document) {
  const std::string file = "'" + std::string(name) + "'";
  const pugi::xml_parse_result parsed =
      document.load_buffer(text.data(), text.size(), pugi::parse_default | pugi::parse_doctype);
  if (!parsed) {
    const auto end = text.begin() + std::min<std::ptrdiff_t>(parsed.offset, std::ssize(text));
    std::string what = parsed.description();
    what.front() = static_cast<char>(std::tolower(static_cast<unsigned char>(what.front())));
    return fail(ErrorKind::corrupt,
                file + ", line " + std::to_string(1 + std::count(text.begin(), end, '\n')) + ": " + what);
  }
  for (const pugi::xml_node& node : document.children())
    if (node.type() == pugi::node_doctype && std::string_view(node.value()).find('[') != std::string_view::npos)
      return fail(ErrorKind::corrupt, file + " declares entities, which no topology needs");
  Depth depth;
  if (!document.traverse(depth)) return fail(ErrorKind::corrupt, file + " has elements too deep in each other");
  return {};
}

}  // namespace pinstep
