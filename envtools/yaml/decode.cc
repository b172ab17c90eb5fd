#include "envtools/base/text.h"
#include "envtools/yaml/yaml.h"

namespace pinstep {
namespace {

constexpr char32_t kReplacement = 0xfffd;

void append_utf8(std::string& text, char32_t c) {
  const auto tail = [&](int shift) { text += static_cast<char>(0x80 | ((c >> shift) & 0x3f)); };
  if (c < 0x80) {
    text += static_cast<char>(c);
  } else if (c < 0x800) {
    text += static_cast<char>(0xc0 | (c >> 6));
    tail(0);
  } else if (c < 0x10000) {
    text += static_cast<char>(0xe0 | (c >> 12));
    tail(6);
    tail(0);
  } else {
    text += static_cast<char>(0xf0 | (c >> 18));
    tail(12);
    tail(6);
    tail(0);
  }
}

std::string utf8_of_utf16(std::string_view text, bool big_endian) {
  const auto unit = [&](std::size_t i) -> char32_t {
    const auto first = static_cast<unsigned char>(text[i]), second = static_cast<unsigned char>(text[i + 1]);
    return big_endian ? first << 8 | second : second << 8 | first;
  };
  std::string decoded;
  for (std::size_t i = 0; i + 1 < text.size(); i += 2) {
    char32_t c = unit(i);
    if (c >= 0xd800 && c < 0xe000) {
      const char32_t low = i + 3 < text.size() ? unit(i + 2) : 0;
      const bool pair = c < 0xdc00 && low >= 0xdc00 && low < 0xe000;
      c = pair ? 0x10000 + ((c - 0xd800) << 10) + (low - 0xdc00) : kReplacement;
      if (pair) i += 2;
    }
    append_utf8(decoded, c);
  }
  return decoded;
}

// What no text file has: control characters other than tab and line ends, and bytes that are no UTF-8.
Result<void> check_characters(std::string_view text, const std::string& path) {
  int line = 1;
  while (!text.empty()) {
    const auto c = static_cast<unsigned char>(text.front());
    const std::size_t length = utf8_character(text);
    if (length == 0) return fail(ErrorKind::invalid, location(path, line) + "a byte that is not UTF-8");
    if ((c < 0x20 && c != '\t' && c != '\n' && c != '\r') || c == 0x7f)
      return fail(ErrorKind::invalid, location(path, line) + "a control character");
    if (c == '\n') ++line;
    text.remove_prefix(length);
  }
  return {};
}

}  // namespace

std::string location(const std::string& path, int line) { return path + ":" + std::to_string(line) + ": "; }

Result<std::string> decode_text(std::string_view text, const std::string& path) {
  std::string decoded;
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff"))
    decoded = utf8_of_utf16(text.substr(2), text.starts_with('\xfe'));
  else
    decoded = text.substr(text.starts_with("\xef\xbb\xbf") ? 3 : 0);
  if (const auto good = check_characters(decoded, path); !good) return tl::unexpected(good.error());
  return decoded;
}

}  // namespace pinstep
