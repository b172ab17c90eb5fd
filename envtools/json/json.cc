#include "envtools/json/json.h"

#include "envtools/base/text.h"

namespace pinstep {
namespace {

constexpr int kDepthLimit = 256;  // of our formats and those of packages none is deeper than 10

// The library takes such text, and then frees and prints it by recursion.
bool is_too_deep(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_string && c == '\\') {
      ++i;
      continue;
    }
    if (c == '"') in_string = !in_string;
    if (in_string) continue;
    if ((c == '[' || c == '{') && ++depth > kDepthLimit) return true;
    if (c == ']' || c == '}') --depth;
  }
  return false;
}

}  // namespace

Json json_of(const Error& error) {
  return {{"kind", std::string(to_string(error.kind))}, {"cause", error.cause}, {"hint", error.hint}};
}

Error error_of(const Json& json) {
  return {parse_error_kind(text_of(json, "kind")).value_or(ErrorKind::os), text_of(json, "cause"),
          text_of(json, "hint")};
}

std::string text_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::uint64_t number_of(const Json& object, const char* key, std::uint64_t otherwise) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : otherwise;
}

Result<Json> parse_json(std::string_view text, std::string_view subject) {
  if (is_too_deep(text))
    return fail(ErrorKind::invalid,
                std::string(subject) + " is nested more than " + std::to_string(kDepthLimit) + " deep");
  try {
    return Json::parse(text);
  } catch (const Json::exception& problem) {
    return fail(ErrorKind::invalid, std::string(subject) + " is not JSON: " + printable(problem.what()));
  }
}

std::string dump_json(const Json& json, int indent) {
  return json.dump(indent, ' ', false, Json::error_handler_t::replace);
}

}  // namespace pinstep
