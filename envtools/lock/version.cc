#include "envtools/lock/version.h"

#include <algorithm>
#include <charconv>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

enum class Kind { digit, star, letter };

Kind kind_of(char c) { return c >= '0' && c <= '9' ? Kind::digit : c == '*' ? Kind::star : Kind::letter; }

VersionPart part_of(std::string_view text) {
  if (text == "post") return {"", kPostRelease};
  if (text == "dev") return {"DEV"};  // before all other letters
  if (kind_of(text[0]) != Kind::digit) return {std::string(text)};
  std::uint64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  return {"", read.ec == std::errc() ? number : kPostRelease - 1};
}

std::vector<VersionPart> segment_of(std::string_view text) {
  std::vector<VersionPart> parts;
  // "1.a" and "1.0a" are one version.
  if (text.empty() || kind_of(text[0]) != Kind::digit) parts.emplace_back();
  while (!text.empty()) {
    const Kind kind = kind_of(text[0]);
    const auto end = std::find_if(text.begin(), text.end(), [&](char c) { return kind_of(c) != kind; });
    const auto length = static_cast<std::size_t>(end - text.begin());
    parts.push_back(part_of(text.substr(0, length)));
    text.remove_prefix(length);
  }
  return parts;
}

// Dots, dashes and underscores separate; an underscore at the very end is a letter (openssl's "1.0.1_").
VersionSegments segments_of(std::string_view text) {
  VersionSegments segments;
  std::string segment;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool separates = text[i] == '.' || text[i] == '-' || (text[i] == '_' && i + 1 < text.size());
    if (!separates) segment += text[i];
    if (!separates && i + 1 < text.size()) continue;
    segments.push_back(segment_of(segment));
    segment.clear();
  }
  return segments;
}

std::weak_ordering compare(const VersionSegments& a, const VersionSegments& b) {
  const VersionPart zero;
  const std::vector<VersionPart> none;
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    const auto& left = i < a.size() ? a[i] : none;
    const auto& right = i < b.size() ? b[i] : none;
    for (std::size_t j = 0; j < std::max(left.size(), right.size()); ++j) {
      const auto order = (j < left.size() ? left[j] : zero) <=> (j < right.size() ? right[j] : zero);
      if (order != 0) return order;
    }
  }
  return std::weak_ordering::equivalent;
}

}  // namespace

std::weak_ordering VersionPart::operator<=>(const VersionPart& other) const {
  if (letters.empty() != other.letters.empty())
    return letters.empty() ? std::weak_ordering::greater : std::weak_ordering::less;
  return letters.empty() ? number <=> other.number : letters.compare(other.letters) <=> 0;
}

Version parse_version(std::string_view text) {
  const std::string lower = to_lower(trim(text));
  std::string_view rest = lower;
  Version version;
  if (const auto bang = rest.find('!'); bang != std::string_view::npos) {
    std::from_chars(rest.data(), rest.data() + bang, version.epoch);
    rest.remove_prefix(bang + 1);
  }
  const auto plus = rest.find('+');
  version.segments = segments_of(rest.substr(0, plus));
  if (plus != std::string_view::npos) version.local = segments_of(rest.substr(plus + 1));
  return version;
}

std::weak_ordering compare_versions(std::string_view a, std::string_view b) {
  const Version left = parse_version(a);
  const Version right = parse_version(b);
  if (left.epoch != right.epoch) return left.epoch <=> right.epoch;
  const auto order = compare(left.segments, right.segments);
  return order != 0 ? order : compare(left.local, right.local);
}

}  // namespace pinstep
