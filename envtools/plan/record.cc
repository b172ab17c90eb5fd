#include "envtools/plan/record.h"

#include "envtools/json/json.h"

namespace pinstep {
namespace {

// The longest channel URL that the package's URL lies below, by its name; else the URL's own directory above
// the platform.
std::string channel_of(const std::string& url, const std::vector<LockedChannel>& channels) {
  const LockedChannel* best = nullptr;
  for (const LockedChannel& channel : channels)
    if (!channel.url.empty() && url.starts_with(channel.url + "/") &&
        (best == nullptr || channel.url.size() > best->url.size()))
      best = &channel;
  if (best != nullptr) return best->name;
  const std::string directory = url.substr(0, url.rfind('/'));
  return directory.substr(0, directory.rfind('/'));
}

}  // namespace

PlannedPackage planned_package(const CondaSource& source, const std::vector<LockedChannel>& channels) {
  const PackageInfo& info = source.info;
  PlannedPackage package;
  package.name = info.name;
  package.version = info.version;
  package.build = info.build;
  package.stem = info.name + "-" + info.version + "-" + info.build;
  package.file_name = source.locked.url.substr(source.locked.url.rfind('/') + 1);

  Json record = Json::object();
  if (auto index = parse_json(info.index_json, "index.json"); index && index->is_object()) record = *index;
  record["name"] = info.name;
  record["version"] = info.version;
  record["build"] = info.build;
  if (!source.locked.md5.empty()) record["md5"] = source.locked.md5;
  if (!source.locked.sha256.empty()) record["sha256"] = source.locked.sha256;
  if (source.locked.size != 0) record["size"] = source.locked.size;
  record["fn"] = package.file_name;
  record["url"] = source.locked.url;
  record["channel"] = channel_of(source.locked.url, channels);
  package.record_json = dump_json(record);
  return package;
}

}  // namespace pinstep
