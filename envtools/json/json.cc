#include "envtools/json/json.h"

#include "envtools/base/text.h"

namespace pinstep {

Json json_of(const Error& error) {
  return {{"kind", std::string(to_string(error.kind))}, {"cause", error.cause}, {"hint", error.hint}};
}

Error error_of(const Json& json) {
  const auto text = [&](const char* key) {
    return json.is_object() && json.contains(key) && json[key].is_string() ? json[key].get<std::string>()
                                                                           : std::string();
  };
  return {parse_error_kind(text("kind")).value_or(ErrorKind::os), text("cause"), text("hint")};
}

Result<Json> parse_json(std::string_view text, std::string_view subject) {
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
