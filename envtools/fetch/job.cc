#include <algorithm>
#include <set>

#include "envtools/base/text.h"
#include "envtools/fetch/fetch.h"
#include "envtools/hash/hash.h"
#include "envtools/json/json.h"

namespace pinstep {
namespace {

constexpr int kConnectionLimit = 64;

tl::unexpected<Error> invalid(const std::string& why) {
  return fail(ErrorKind::invalid, "the fetch job " + why);
}

bool is_fetchable(std::string_view url) {
  return url.starts_with("http://") || url.starts_with("https://") || url.starts_with("file://");
}

Result<FetchFile> file_of(const Json& json) {
  if (!json.is_object() || !json.contains("urls") || !json["urls"].is_array() || json["urls"].empty())
    return invalid("has a file without 'urls'");
  FetchFile file;
  for (const Json& url : json["urls"]) {
    if (!url.is_string() || !is_fetchable(url.get<std::string>()))
      return invalid("has a URL that is neither http, https nor file");
    file.urls.push_back(url.get<std::string>());
  }
  file.sha256 = text_of(json, "sha256");
  file.md5 = text_of(json, "md5");
  file.size = number_of(json, "size");
  file.path = text_of(json, "path");
  if (!file.path.starts_with('/'))
    return invalid("has a path that is not absolute: '" + printable(file.path) + "'");
  if (!file.sha256.empty() && !is_hex(file.sha256, 64))
    return invalid("has a bad sha256 for '" + file.path + "'");
  if (!file.md5.empty() && !is_hex(file.md5, 32)) return invalid("has a bad md5 for '" + file.path + "'");
  return file;
}

constexpr std::pair<FetchEvent::Kind, const char*> kEvents[] = {{FetchEvent::Kind::progress, "progress"},
                                                                {FetchEvent::Kind::done, "done"},
                                                                {FetchEvent::Kind::failed, "failed"}};

}  // namespace

std::string format_fetch_job(const FetchJob& job) {
  Json files = Json::array();
  for (const FetchFile& file : job.files)
    files.push_back({{"urls", file.urls},
                     {"sha256", file.sha256},
                     {"md5", file.md5},
                     {"size", file.size},
                     {"path", file.path}});
  Json proxies = Json::object();
  for (const auto& [scheme, url] : job.proxies) proxies[scheme] = url;
  return dump_json({{"connections", job.connections},
                    {"connect_seconds", job.connect_seconds},
                    {"stall_seconds", job.stall_seconds},
                    {"proxies", std::move(proxies)},
                    {"certificates", job.certificates},
                    {"files", std::move(files)}});
}

Result<FetchJob> parse_fetch_job(std::string_view text) {
  const auto json = parse_json(text, "the fetch job");
  if (!json) return tl::unexpected(json.error());
  if (!json->is_object() || !json->contains("files") || !(*json)["files"].is_array())
    return invalid("has no list 'files'");
  const auto small = [&](const char* key, int otherwise, std::uint64_t most) {
    return static_cast<int>(std::clamp<std::uint64_t>(number_of(*json, key, otherwise), 1, most));
  };
  FetchJob job;
  job.connections = small("connections", job.connections, kConnectionLimit);
  job.connect_seconds = small("connect_seconds", job.connect_seconds, 3600);
  job.stall_seconds = small("stall_seconds", job.stall_seconds, 3600);
  job.certificates = text_of(*json, "certificates");
  if (const auto proxies = json->find("proxies"); proxies != json->end() && proxies->is_object())
    for (const auto& [scheme, url] : proxies->items())
      if (url.is_string()) job.proxies.emplace(scheme, url.get<std::string>());
  std::set<std::string> paths;
  for (const Json& item : (*json)["files"]) {
    auto file = file_of(item);
    if (!file) return tl::unexpected(file.error());
    if (!paths.insert(file->path).second) return invalid("has two files for '" + file->path + "'");
    job.files.push_back(std::move(*file));
  }
  return job;
}

std::string format_fetch_event(const FetchEvent& event) {
  Json json;
  for (const auto& [kind, name] : kEvents)
    if (kind == event.kind) json["event"] = name;
  json["file"] = event.file;
  if (event.kind == FetchEvent::Kind::failed) {
    json.update(json_of(event.error));
  } else {
    json["bytes"] = event.bytes;
  }
  if (event.kind == FetchEvent::Kind::done) json["sha256"] = event.sha256;
  return dump_json(json) + "\n";
}

Result<FetchEvent> parse_fetch_event(std::string_view line) {
  const auto json = parse_json(line, "a fetch event");
  if (!json) return tl::unexpected(json.error());
  if (!json->is_object()) return fail(ErrorKind::invalid, "a fetch event is no object");
  const std::string name = text_of(*json, "event");
  const auto kind =
      std::find_if(std::begin(kEvents), std::end(kEvents), [&](const auto& e) { return e.second == name; });
  if (kind == std::end(kEvents))
    return fail(ErrorKind::invalid, "the fetch event '" + printable(name) + "' is unknown");
  FetchEvent event;
  event.kind = kind->first;
  event.file = number_of(*json, "file");
  event.bytes = number_of(*json, "bytes");
  event.sha256 = text_of(*json, "sha256");
  if (event.kind == FetchEvent::Kind::failed) event.error = error_of(*json);
  return event;
}

}  // namespace pinstep
