#include "launcher/step/nodelist.h"

#include <algorithm>
#include <cstdint>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

struct Range {
  std::uint64_t low;
  std::uint64_t high;
  std::size_t width;  // digits of the lower end as written
};

// Literal text, or a choice among numbers.
struct Part {
  std::string_view literal;
  std::vector<Range> ranges;
};

constexpr std::size_t kMaxName = 255;  // of a host name; lists are the user's to make up, memory is not
constexpr std::size_t kMaxParts = 64;  // Slurm knows five brackets; each costs a level of recursion
constexpr std::uint64_t kMaxNumber = 1'000'000'000'000'000'000;  // counting to it cannot overflow

std::string padded(std::uint64_t number, std::size_t width) {
  std::string digits = std::to_string(number);
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return digits;
}

std::optional<Range> parse_range(std::string_view text) {
  const auto ends = split_once(text, '-');
  const std::string_view low_text = ends ? ends->before : text;
  const auto low = parse_number<std::uint64_t>(low_text);
  const auto high = ends ? parse_number<std::uint64_t>(ends->after) : low;
  if (!low || !high || *high < *low || *high > kMaxNumber) return std::nullopt;
  return Range{*low, *high, low_text.size()};
}

std::optional<std::vector<Range>> parse_ranges(std::string_view text) {
  std::vector<Range> ranges;
  for (const std::string_view piece : split(text, ',')) {
    const auto range = parse_range(piece);
    if (!range) return std::nullopt;
    ranges.push_back(*range);
  }
  return ranges;
}

std::size_t longest_name(const std::vector<Part>& parts) {
  std::size_t length = 0;
  for (const Part& part : parts) {
    std::size_t longest = part.literal.size();
    for (const Range& range : part.ranges)
      longest = std::max({longest, range.width, std::to_string(range.high).size()});
    length += longest;
  }
  return length;
}

// One element of the list (no comma outside brackets) as its parts.
std::optional<std::vector<Part>> parse_element(std::string_view element) {
  std::vector<Part> parts;
  while (!element.empty()) {
    if (parts.size() == kMaxParts) return std::nullopt;
    const std::size_t open = element.find('[');
    if (open != 0) {
      parts.push_back({element.substr(0, open), {}});
      element.remove_prefix(open == std::string_view::npos ? element.size() : open);
      continue;
    }
    const std::size_t close = element.find(']');
    if (close == std::string_view::npos) return std::nullopt;
    auto ranges = parse_ranges(element.substr(1, close - 1));
    if (!ranges) return std::nullopt;
    parts.push_back({{}, std::move(*ranges)});
    element.remove_prefix(close + 1);
  }
  if (parts.empty() || longest_name(parts) > kMaxName) return std::nullopt;
  for (const Part& part : parts)
    if (part.literal.find_first_of("] \t\n") != std::string_view::npos) return std::nullopt;
  return parts;
}

// Appends the names that `parts` from `index` on make after `beginning`, until there are `limit` names.
void append_names(const std::vector<Part>& parts, std::size_t index, const std::string& beginning,
                  std::size_t limit, std::vector<std::string>& names) {
  if (names.size() >= limit) return;
  if (index == parts.size()) {
    names.push_back(beginning);
    return;
  }
  const Part& part = parts[index];
  if (part.ranges.empty()) {
    append_names(parts, index + 1, beginning + std::string(part.literal), limit, names);
    return;
  }
  for (const Range& range : part.ranges)
    for (std::uint64_t number = range.low; number <= range.high && names.size() < limit; ++number)
      append_names(parts, index + 1, beginning + padded(number, range.width), limit, names);
}

// Splits at the commas outside brackets.
std::vector<std::string_view> elements_of(std::string_view list) {
  std::vector<std::string_view> elements;
  bool inside = false;
  std::size_t start = 0;
  for (std::size_t i = 0; i < list.size(); ++i) {
    if (list[i] == '[') inside = true;
    if (list[i] == ']') inside = false;
    if (list[i] != ',' || inside) continue;
    elements.push_back(list.substr(start, i - start));
    start = i + 1;
  }
  elements.push_back(list.substr(start));
  return elements;
}

}  // namespace

Result<std::vector<std::string>> expand_node_list(std::string_view list, std::size_t limit) {
  std::vector<std::string> names;
  for (const std::string_view element : elements_of(list)) {
    const auto parts = parse_element(element);
    if (!parts)
      return fail(ErrorKind::invalid, "'" + std::string(list.substr(0, kMaxName)) + "' is not a node list");
    append_names(*parts, 0, "", limit, names);
  }
  return names;
}

}  // namespace pinstep
