// YAML files as a small tree in which every node knows its line.
//
// Built from yaml-cpp's events, not from its own tree: that one keeps one of two equal keys silently and
// turns plain scalars into whatever they look like. Here a plain scalar is the text that was written.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep {

struct YamlKey {
  std::string text;
  int line = 0;
};

struct YamlNode {
  enum class Kind { null, scalar, sequence, map };

  Kind kind = Kind::null;
  std::string text;           // of a scalar
  bool quoted = false;        // so that "null" in quotes is a text
  int line = 0;               // 1-based
  std::vector<YamlKey> keys;  // of a map, as many as items; all different
  std::vector<YamlNode> items;

  bool is_null() const { return kind == Kind::null; }
  bool is_scalar() const { return kind == Kind::scalar; }
  bool is_sequence() const { return kind == Kind::sequence; }
  bool is_map() const { return kind == Kind::map; }

  // The value of a map's key; nullptr where it has none or is no map.
  const YamlNode* find(std::string_view key) const;
};

// The text of a map's key; empty where it has none or it is no scalar.
std::string text_at(const YamlNode& node, std::string_view key);

// One document; an empty one is null. UTF-8, or UTF-16 with a byte order mark.
// Errors: invalid with "PATH:LINE: ": no YAML, equal keys, more than one document, merge keys, keys that are
// no scalars, nesting beyond 64, aliases that would copy more than 10000 nodes.
Result<YamlNode> parse_yaml(std::string_view text, const std::string& path);

// UTF-16 with a byte order mark as UTF-8; UTF-8 without its byte order mark. Errors: invalid.
Result<std::string> decode_text(std::string_view text, const std::string& path);

// "PATH:LINE: ", the beginning of a located cause or note.
std::string location(const std::string& path, int line);

// The text as a YAML scalar on one line that YAML 1.1 and 1.2 both read back as this string.
std::string yaml_scalar(std::string_view text);

}  // namespace pinstep
