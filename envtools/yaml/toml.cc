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

// Where the string ends that begins at `begin`: behind its last quotation mark, at the line's end where it has
// none.
std::size_t end_of_string(std::string_view text, std::size_t begin) {
  const char quote = text[begin];
  const std::string marks(3, quote);
  const bool is_long = text.substr(begin, 3) == marks;
  for (std::size_t i = begin + (is_long ? 3 : 1); i < text.size(); ++i) {
    if (quote == '"' && text[i] == '\\') {
      ++i;
    } else if (!is_long && (text[i] == quote || text[i] == '\n')) {
      return text[i] == quote ? i + 1 : i;
    } else if (is_long && text.substr(i, 3) == marks) {
      // Before these it may have two more of its own.
      return std::min(text.find_first_not_of(quote, i), text.size());
    }
  }
  return text.size();
}

// The line of the first character beyond ASCII that is in no string and no comment; 0: there is none.
// toml++ 3.3 takes some of them for parts of a key and is undefined then.
int stray_character(std::string_view text) {
  int line = 1;
  for (std::size_t i = 0, next = 0; i < text.size(); i = next) {
    const char c = text[i];
    if (static_cast<unsigned char>(c) >= 0x80) return line;
    next = i + 1;
    if (c == '#') next = std::min(text.find('\n', i), text.size());
    if (c == '"' || c == '\'') next = end_of_string(text, i);
    const std::string_view passed = text.substr(i, next - i);
    line += static_cast<int>(std::count(passed.begin(), passed.end(), '\n'));
  }
  return 0;
}

Error no_toml(const std::string& path, int line, const std::string& why) {
  return {ErrorKind::invalid, location(path, line) + "this is no TOML: " + why, ""};
}

}  // namespace

Result<YamlNode> parse_toml(std::string_view text, const std::string& path) {
  const auto decoded = decode_text(text, path);
  if (!decoded) return tl::unexpected(decoded.error());
  if (const int line = stray_character(*decoded); line > 0)
    return tl::unexpected(no_toml(path, line, "a character outside of strings and comments that is not ASCII"));
  const toml::parse_result parsed = toml::parse(*decoded);
  if (parsed) return node_of(parsed.table(), 1);
  const toml::parse_error& error = parsed.error();
  return tl::unexpected(
      no_toml(path, std::max(static_cast<int>(error.source().begin.line), 1), printable(error.description())));
}

}  // namespace pinstep
