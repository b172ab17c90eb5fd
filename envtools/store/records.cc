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
  origin.name = text_of(*json, "name");
  if (json->contains("lock")) origin.lock = text_of(*json, "lock");
  origin.platform = text_of(*json, "platform");
  origin.built = static_cast<std::int64_t>(number_of(*json, "built"));
  origin.packages = number_of(*json, "packages");
  origin.bytes = number_of(*json, "bytes");
  return origin;
}

}  // namespace pinstep
