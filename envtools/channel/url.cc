#include <algorithm>

#include "envtools/channel/channel.h"

namespace pinstep {
namespace {

bool is_token_character(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
}

// ".../t/TOKEN/rest" as conda finds it, anywhere in the path.
void remove_tokens(std::string& url, std::size_t path) {
  for (;;) {
    const std::size_t at = url.find("/t/", path);
    if (at == std::string::npos) return;
    std::size_t end = at + 3;
    while (end < url.size() && is_token_character(url[end])) ++end;
    if (end == at + 3 || (end < url.size() && url[end] != '/')) {
      path = at + 2;
      continue;
    }
    url.erase(at, end - at);
  }
}

}  // namespace

std::string without_credentials(std::string_view text) {
  std::string url(text);
  const std::size_t scheme = url.find("://");
  if (scheme == std::string::npos || url.starts_with("file:")) return url;
  const std::size_t authority = scheme + 3;
  std::size_t path = std::min(url.find_first_of("/?#", authority), url.size());
  const std::string_view before(url.data() + authority, path - authority);
  if (const std::size_t at = before.rfind('@'); at != std::string_view::npos) {
    const std::size_t colon = before.find(':');
    const bool ssh = std::string_view(url).substr(0, scheme).ends_with("ssh");
    const std::size_t kept = ssh ? std::min(colon, at) : 0;
    const std::size_t removed = ssh ? at - kept : at + 1;
    url.erase(authority + kept, removed);
    path -= removed;
  }
  remove_tokens(url, path);
  return url;
}

std::string without_credentials_anywhere(std::string_view text) {
  const auto is_of_scheme = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' || c == '-' ||
           c == '.';
  };
  std::string result;
  for (;;) {
    const std::size_t colon = text.find("://");
    if (colon == std::string_view::npos) return result + std::string(text);
    std::size_t begin = colon;
    while (begin > 0 && is_of_scheme(text[begin - 1])) --begin;
    const std::size_t end = std::min(text.find_first_of(" \t\n\"'<>", colon), text.size());
    result += std::string(text.substr(0, begin)) + without_credentials(text.substr(begin, end - begin));
    text.remove_prefix(end);
  }
}

}  // namespace pinstep
