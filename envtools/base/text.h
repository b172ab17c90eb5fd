// Small functions on text: no locale, no allocation beyond their result.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pinstep {

// "a:b:" split at ':' gives a, b and an empty piece; "" gives one empty piece.
std::vector<std::string_view> split(std::string_view text, char separator);

// The text before and after the first separator; nothing if there is none.
struct Halves {
  std::string_view before;
  std::string_view after;
};
std::optional<Halves> split_once(std::string_view text, char separator);

std::string_view trim(std::string_view text);

std::string to_lower(std::string_view text);  // A to Z only

// The last line with anything but blanks in it, trimmed: where programs say what went wrong.
std::string_view last_line(std::string_view text);

// A whole decimal number and nothing else: no sign, blank, prefix or overflow.
template <class Unsigned>
std::optional<Unsigned> parse_number(std::string_view text) {
  Unsigned value{};
  const char* end = text.data() + text.size();
  auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end || text.empty() || text.front() == '-') return std::nullopt;
  return value;
}

// Whether the text is `digits` lower-case hex digits (64 for a sha256).
bool is_hex(std::string_view text, std::size_t digits);

// "1.2 GB", decimal.
std::string format_size(std::uint64_t bytes);

// Percent-escapes every byte that is not printable ASCII, and ' ', '%' and the characters in `special`.
// decode reverses it; nothing for a broken escape. decode(encode(x, s)) == x for every x and s.
std::string percent_encode(std::string_view text, std::string_view special);
std::optional<std::string> percent_decode(std::string_view text);

// Bytes of the UTF-8 character (RFC 3629) that a non-empty text begins with; 0 if it begins with none.
std::size_t utf8_character(std::string_view text);

// For a message on one line: control characters and what is no UTF-8 become '?', at most 2000 bytes.
std::string printable(std::string_view text);

// The text as one word of a POSIX shell, in single quotes where it needs any.
std::string shell_quote(std::string_view text);

// The candidate with the smallest edit distance to `word`, if it is close enough to be a slip of the
// finger (at most a third of the word's length, at least one edit); for "did you mean".
std::optional<std::string_view> nearest(std::string_view word, const std::vector<std::string_view>& candidates);

// FNV-1a: spreads job ids over ports and marks values that may have changed. Not for content addresses.
std::uint32_t fnv1a(std::string_view text);

}  // namespace pinstep
