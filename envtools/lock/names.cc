#include "envtools/lock/names.h"

#include <algorithm>

#include "envtools/base/text.h"

namespace pinstep {

std::string normalized_name(std::string_view name) {
  std::string result;
  for (char c : name) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
    const bool separator = c == '-' || c == '_' || c == '.';
    if (!separator)
      result += c;
    else if (!result.ends_with('-'))
      result += '-';
  }
  return result;
}

void add_dependency(std::map<std::string, std::string>& dependencies, std::string_view spec) {
  spec = trim(spec);
  const std::size_t end = std::min(spec.find_first_of(" =<>!~["), spec.size());
  if (end == 0) return;
  const std::string constraint(trim(spec.substr(end)));
  const auto [entry, is_new] = dependencies.emplace(spec.substr(0, end), constraint);
  if (is_new || constraint.empty() || entry->second == constraint) return;
  if (entry->second.empty())
    entry->second = constraint;
  else if (entry->second.find(' ') == std::string::npos && constraint.find(' ') == std::string::npos)
    entry->second += "," + constraint;
}

bool is_path_component(std::string_view text) {
  return !text.empty() && text != "." && text != ".." && text.find('/') == std::string_view::npos;
}

std::string file_name_of(std::string_view url) {
  url = url.substr(0, url.find_first_of("?#"));
  return percent_decode(url.substr(url.rfind('/') + 1)).value_or("");
}

}  // namespace pinstep
