#include "envtools/channel/access_json.h"

namespace pinstep {
namespace {

std::map<std::string, std::string> texts_of(const Json& json, const char* key) {
  std::map<std::string, std::string> texts;
  const auto found = json.find(key);
  if (found == json.end() || !found->is_object()) return texts;
  for (const auto& [name, value] : found->items())
    if (value.is_string()) texts.emplace(name, value.get<std::string>());
  return texts;
}

Json object_of(const std::map<std::string, std::string>& texts) {
  Json object = Json::object();
  for (const auto& [name, value] : texts) object[name] = value;
  return object;
}

}  // namespace

Json json_of(const Access& access) {
  return {{"credentials", object_of(access.credentials)},
          {"proxies", object_of(access.proxies)},
          {"certificates", access.certificates}};
}

Access access_of(const Json& json) {
  if (!json.is_object()) return {};
  return {texts_of(json, "credentials"), texts_of(json, "proxies"), text_of(json, "certificates")};
}

}  // namespace pinstep
