#include "envtools/doctor/facts.h"

#include <gnu/libc-version.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "envtools/base/fd.h"
#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "envtools/config/files.h"
#include "envtools/doctor/elf.h"
#include "envtools/hash/hash.h"
#include "envtools/store/store.h"
#include "pinstep_config.h"

namespace pinstep::doctor {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kPluginLimit = 256 << 20;  // bytes
constexpr std::size_t kOutputLimit = 1 << 16;    // bytes of a --version
constexpr std::chrono::seconds kVersionTimeLimit{10};

PluginFacts look_at(const PluginLine& line) {
  PluginFacts plugin{line, "", 0, ""};
  if (!line.path.starts_with('/')) {
    plugin.trouble = "its path is not absolute";
    return plugin;
  }
  const auto file = read_file(line.path, kPluginLimit, Links::followed);
  if (!file) {
    plugin.trouble = file.error().cause;
    return plugin;
  }
  plugin.digest = sha256_hex(file->text);
  const auto version = elf_number(file->text, "plugin_version");
  if (version)
    plugin.version = *version;
  else
    plugin.trouble = version.error().cause;
  return plugin;
}

// The names of what is built, and how many; hidden ones are being built.
void look_at_environments(StoreFacts& store) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator entry(store.path + "/e", error), end; !error && entry != end;
       entry.increment(error))
    if (const std::string name = entry->path().filename(); !name.starts_with('.')) names.push_back(name + "\n");
  if (error && error != std::errc::no_such_file_or_directory)
    store.trouble = "cannot list '" + store.path + "/e': " + error.message();
  std::sort(names.begin(), names.end());
  Hasher hasher;
  for (const std::string& name : names) hasher.update(name);
  store.environments = hasher.hex();
  store.count = names.size();
}

StoreFacts look_at(const Store& place) {
  StoreFacts store{place.directory(), false, false, 0, "", ""};
  const auto version = read_file(store.path + "/VERSION", kOutputLimit);
  fs::path nearest = store.path;
  std::error_code error;
  while (!fs::exists(nearest, error) && nearest.has_relative_path()) nearest = nearest.parent_path();
  store.writable = ::access(nearest.c_str(), W_OK | X_OK) == 0;
  if (version) {
    store.exists = true;
    if (trim(version->text) != "1") store.trouble = "it was made by another version of pinstep";
    look_at_environments(store);
  } else if (version.error().kind != ErrorKind::not_found) {
    store.trouble = version.error().cause;
  }
  return store;
}

bool flag_of(const Json& json, const char* name) {
  const auto found = json.find(name);
  return found != json.end() && found->is_boolean() && found->get<bool>();
}

// The objects in a list; nothing where it is none.
std::vector<Json> objects_of(const Json& json, const char* name) {
  std::vector<Json> objects;
  const auto found = json.find(name);
  if (found == json.end() || !found->is_array()) return objects;
  for (const Json& one : *found)
    if (one.is_object()) objects.push_back(one);
  return objects;
}

}  // namespace

std::string series_of(std::string_view version) {
  const auto parts = split(version, '.');
  return parts.size() < 2 ? std::string(version) : std::string(parts[0]) + "." + std::string(parts[1]);
}

std::string series_of(std::uint32_t version) {
  char text[16];
  std::snprintf(text, sizeof text, "%02u.%02u", version >> 16 & 0xff, version >> 8 & 0xff);
  return text;
}

Result<std::string> slurm_version(const Environment& environment) {
  for (const char* command : {"scontrol", "sbatch", "srun"}) {
    const auto done = run({{command, "--version"}, environment, "", true, kVersionTimeLimit}, kOutputLimit);
    if (!done && done.error().kind == ErrorKind::not_found) continue;
    if (!done) return tl::unexpected(done.error());
    if (done->exit_code != 0 || done->signal != 0)
      return fail(ErrorKind::os, std::string(last_line(done->errors)));
    // "slurm-wlm 22.05.8" or "slurm 24.11.3".
    const std::string_view line = last_line(done->output);
    return std::string(line.substr(line.rfind(' ') + 1));
  }
  return fail(ErrorKind::not_found, "Slurm's commands are not on PATH",
              "without Slurm environments can be locked, built and run");
}

Facts collect(const Environment& environment, const std::string& plugstack) {
  Facts facts;
  utsname system{};
  ::uname(&system);
  facts.host = system.nodename;
  facts.machine = system.machine;
  facts.pinstep = PINSTEP_VERSION;
  facts.libc = ::gnu_get_libc_version();
  facts.slurm = slurm_version(environment).value_or("");
  facts.switched_off = ::access(kDisableFile, F_OK) == 0;
  const auto site = hash_file(kSiteFile);
  facts.settings = site ? *site : "-";
  if (!site && site.error().kind != ErrorKind::not_found) facts.errors.push_back(site.error());

  if (!plugstack.empty()) {
    const auto lines = read_plugstack(plugstack);
    if (!lines) facts.errors.push_back(lines.error());
    if (lines)
      for (const PluginLine& line : lines->plugins)
        if (is_ours(line)) facts.plugins.push_back(look_at(line));
  }
  const std::vector<std::string> arguments =
      facts.plugins.empty() ? std::vector<std::string>() : facts.plugins[0].line.arguments;
  const auto settings = load_user_settings(environment, arguments);
  if (!settings) {
    facts.errors.push_back(settings.error());
    return facts;
  }
  facts.errors.insert(facts.errors.end(), settings->errors.begin(), settings->errors.end());
  const auto found = stores(environment, settings->settings.store);
  if (!found) facts.errors.push_back(found.error());
  if (found)
    for (const Store& store : *found) facts.stores.push_back(look_at(store));
  return facts;
}

Json json_of(const Facts& facts) {
  Json json{{"host", facts.host},
            {"pinstep", facts.pinstep},
            {"machine", facts.machine},
            {"libc", facts.libc},
            {"slurm", facts.slurm},
            {"settings", facts.settings},
            {"switched_off", facts.switched_off}};
  json["plugins"] = Json::array();
  for (const PluginFacts& plugin : facts.plugins)
    json["plugins"].push_back({{"word", plugin.line.word},
                               {"path", plugin.line.path},
                               {"where", plugin.line.where},
                               {"digest", plugin.digest},
                               {"version", plugin.version},
                               {"trouble", plugin.trouble}});
  json["stores"] = Json::array();
  for (const StoreFacts& store : facts.stores)
    json["stores"].push_back({{"path", store.path},
                              {"exists", store.exists},
                              {"writable", store.writable},
                              {"count", store.count},
                              {"environments", store.environments},
                              {"trouble", store.trouble}});
  json["errors"] = Json::array();
  for (const Error& error : facts.errors) json["errors"].push_back(pinstep::json_of(error));
  return json;
}

Result<Facts> parse_facts(std::string_view text) {
  const auto json = parse_json(text, "what a node says");
  if (!json) return tl::unexpected(json.error());
  if (!json->is_object()) return fail(ErrorKind::invalid, "what a node says is no object");
  Facts facts;
  facts.host = text_of(*json, "host");
  facts.pinstep = text_of(*json, "pinstep");
  facts.machine = text_of(*json, "machine");
  facts.libc = text_of(*json, "libc");
  facts.slurm = text_of(*json, "slurm");
  facts.settings = text_of(*json, "settings");
  facts.switched_off = flag_of(*json, "switched_off");
  for (const Json& one : objects_of(*json, "plugins"))
    facts.plugins.push_back({{text_of(one, "word"), text_of(one, "path"), {}, text_of(one, "where")},
                             text_of(one, "digest"),
                             static_cast<std::uint32_t>(number_of(one, "version")),
                             text_of(one, "trouble")});
  for (const Json& one : objects_of(*json, "stores"))
    facts.stores.push_back({text_of(one, "path"), flag_of(one, "exists"), flag_of(one, "writable"),
                            number_of(one, "count"), text_of(one, "environments"), text_of(one, "trouble")});
  for (const Json& one : objects_of(*json, "errors")) facts.errors.push_back(error_of(one));
  return facts;
}

}  // namespace pinstep::doctor
