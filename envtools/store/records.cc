#include "envtools/store/records.h"

#include "envtools/base/fd.h"
#include "envtools/json/json.h"

namespace pinstep {
namespace {

constexpr std::size_t kOriginLimit = 64 * 1024;  // bytes

}  // namespace

std::string records_directory(const std::string& prefix) { return prefix + "/conda-meta/pinstep"; }
std::string id_file(const std::string& prefix) { return records_directory(prefix) + "/id"; }
std::string tree_hash_file(const std::string& prefix) { return records_directory(prefix) + "/tree.sha256"; }
std::string origin_file(const std::string& prefix) { return records_directory(prefix) + "/origin"; }

std::string format_origin(const Origin& origin) {
  Json json;
  json["name"] = origin.name;
  json["lock"] = origin.lock;
  json["platform"] = origin.platform;
  json["built"] = origin.built;
  json["packages"] = origin.packages;
  json["bytes"] = origin.bytes;
  return dump_json(json) + "\n";
}

Origin read_origin(const std::string& prefix) {
  Origin origin;
  const std::string path = origin_file(prefix);
  const auto file = read_file(path, kOriginLimit);
  const auto json = file ? parse_json(file->text, path) : tl::unexpected(file.error());
  if (!json || !json->is_object()) return origin;
  const auto text = [&](const char* key, std::string fallback) {
    const auto found = json->find(key);
    return found != json->end() && found->is_string() ? found->get<std::string>() : fallback;
  };
  origin.name = text("name", "");
  origin.lock = text("lock", "-");
  origin.platform = text("platform", "");
  const auto number = [&](const char* key) {
    const auto found = json->find(key);
    return found != json->end() && found->is_number_unsigned() ? found->get<std::uint64_t>() : 0;
  };
  origin.built = static_cast<std::int64_t>(number("built"));
  origin.packages = number("packages");
  origin.bytes = number("bytes");
  return origin;
}

}  // namespace pinstep
