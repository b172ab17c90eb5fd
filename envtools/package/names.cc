#include "envtools/package/names.h"

#include <algorithm>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

bool is_identifier(std::string_view text) {
  return !text.empty() && !is_digit(text.front()) &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_letter(c) || is_digit(c) || c == '_'; });
}

}  // namespace

bool is_safe_part(std::string_view part) {
  constexpr std::size_t kLimit = 128;  // three of them and a digest fit into a file name of 255 with room
  if (part.empty() || part.size() > kLimit || part.front() == '.') return false;
  return std::all_of(part.begin(), part.end(), [](char c) {
    return is_letter(c) || is_digit(c) || std::string_view("_.-+!").find(c) != std::string_view::npos;
  });
}

bool is_inner_path(std::string_view path) {
  if (path.find('\0') != std::string_view::npos) return false;
  const auto parts = split(path, '/');  // an absolute path begins with an empty part
  return std::none_of(parts.begin(), parts.end(),
                      [](std::string_view part) { return part.empty() || part == "." || part == ".."; });
}

bool is_command_name(std::string_view name) {
  if (name.empty() || name.size() > 255 || name.front() == '.') return false;
  return std::all_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) > 0x20 && c != 0x7f && c != '/' && c != '\\';
  });
}

bool is_identifier_chain(std::string_view text) {
  const auto parts = split(text, '.');
  return std::all_of(parts.begin(), parts.end(), is_identifier);
}

}  // namespace pinstep
