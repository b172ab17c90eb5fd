#include "envtools/yaml/toml.h"

#include <algorithm>
#include <sstream>

#include "envtools/base/text.h"

#define TOML_EXCEPTIONS 0
// toml++ 3.3 asserts about a key what nothing has checked: "[(" would end the program, and with NDEBUG it would
// be undefined. Without the assertion it finds the error itself.
#undef NDEBUG
#define TOML_ASSERT(expression) static_cast<void>(0)
#include <toml++/toml.h>

namespace pinstep {
namespace {

YamlNode node_of(const toml::node& from, int above);

YamlNode map_of(const toml::table& table, int line) {
  YamlNode node;
  node.kind = YamlNode::Kind::map;
  for (const auto& [key, value] : table) {
    YamlNode item = node_of(value, line);
    const int at = static_cast<int>(key.source().begin.line);
    node.keys.push_back({std::string(key.str()), at > 0 ? at : item.line});
    node.items.push_back(std::move(item));
  }
  return node;
}

YamlNode sequence_of(const toml::array& array, int line) {
  YamlNode node;
  node.kind = YamlNode::Kind::sequence;
  for (const toml::node& item : array) node.items.push_back(node_of(item, line));
  return node;
}

// Of what is no string, table or array.
std::string plain_text(const toml::node& from) {
  std::ostringstream text;
  text << std::boolalpha;
  from.visit([&](const auto& value) {
    if constexpr (toml::is_value<decltype(value)>) text << value.get();
  });
  return text.str();
}

YamlNode node_of(const toml::node& from, int above) {
  const int said = static_cast<int>(from.source().begin.line);
  const int line = said > 0 ? said : above;
  YamlNode node;
  if (const toml::table* table = from.as_table()) {
    node = map_of(*table, line);
  } else if (const toml::array* array = from.as_array()) {
    node = sequence_of(*array, line);
  } else {
    node.kind = YamlNode::Kind::scalar;
    const auto* string = from.as_string();
    node.quoted = string != nullptr;
    node.text = string != nullptr ? string->get() : plain_text(from);
  }
  node.line = line;
  return node;
}

}  // namespace

Result<YamlNode> parse_toml(std::string_view text, const std::string& path) {
  const auto decoded = decode_text(text, path);
  if (!decoded) return tl::unexpected(decoded.error());
  const toml::parse_result parsed = toml::parse(*decoded);
  if (parsed) return node_of(parsed.table(), 1);
  const toml::parse_error& error = parsed.error();
  return fail(ErrorKind::invalid, location(path, std::max(static_cast<int>(error.source().begin.line), 1)) +
                                      "this is no TOML: " + printable(error.description()));
}

}  // namespace pinstep
