// A conda environment as it lies on a disk.
#include <algorithm>
#include <filesystem>
#include <map>
#include <set>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/channel/channel.h"
#include "envtools/init/new_spec.h"
#include "envtools/json/json.h"
#include "envtools/lock/names.h"
#include "envtools/spec/check.h"

namespace pinstep {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kRecordLimit = 64 << 20;   // bytes of a file in conda-meta
constexpr std::size_t kMetadataLimit = 1 << 20;  // bytes of a wheel's METADATA

struct Installed {
  std::string name, version, channel;
  std::vector<std::string> needs;
};

// "['python=3.12', "numpy"]", as Python prints a list of texts.
std::vector<std::string> python_list(std::string_view text) {
  std::vector<std::string> items;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char quote = text[at];
    if (quote != '\'' && quote != '"') continue;
    const std::size_t end = text.find(quote, at + 1);
    if (end == std::string_view::npos) break;
    items.emplace_back(text.substr(at + 1, end - at - 1));
    at = end;
  }
  return items;
}

// The specs that were asked for and not taken out again, by name, in the order they came.
std::vector<std::string> asked_specs(std::string_view history) {
  std::vector<std::pair<std::string, std::string>> asked;
  const auto drop = [&](const std::string& name) {
    std::erase_if(asked, [&](const auto& entry) { return entry.first == name; });
  };
  for (std::string_view line : split(history, '\n')) {
    if (!line.starts_with("# ")) continue;
    const auto halves = split_once(line.substr(2), ':');
    if (!halves || !halves->before.ends_with(" specs")) continue;
    const std::string_view what = halves->before;
    for (const std::string& spec : python_list(halves->after)) {
      drop(package_name(spec));
      if (what != "remove specs" && what != "uninstall specs") asked.emplace_back(package_name(spec), spec);
    }
  }
  std::vector<std::string> specs;
  for (auto& [name, spec] : asked) specs.push_back(std::move(spec));
  return specs;
}

// The channel's name in specs, of the URL in a record; the URL without credentials where it has none.
std::string channel_name(std::string url) {
  url = without_credentials(url);
  for (const std::string_view end : {"/linux-64", "/linux-aarch64", "/noarch"})
    if (url.ends_with(end)) url.resize(url.size() - end.size());
  while (url.ends_with('/')) url.pop_back();
  if (url.find("/pkgs/") != std::string::npos || url.starts_with("pkgs/")) return "defaults";
  const auto channels = expand_channel(url, built_in_channel_config());
  return channels && channels->size() == 1 ? channels->front().name : url;
}

class Prefix {
 public:
  explicit Prefix(const std::string& directory) : directory_(directory) {}

  Result<NewSpec> read() {
    if (const auto done = read_records(); !done) return tl::unexpected(done.error());
    spec_.name = fs::path(directory_).filename();
    add_conda();
    add_channels();
    add_variables();
    add_pip();
    return std::move(spec_);
  }

 private:
  Result<void> read_records() {
    const std::string meta = directory_ + "/conda-meta";
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(meta, error)) {
      if (entry.path().extension() != ".json") continue;
      const auto file = read_file(entry.path(), kRecordLimit);
      if (!file) return tl::unexpected(file.error());
      const auto json = parse_json(file->text, "'" + entry.path().string() + "'");
      if (!json) return tl::unexpected(json.error());
      add_record(*json);
    }
    if (error || installed_.empty())
      return fail(ErrorKind::invalid, "'" + directory_ + "' is no conda environment",
                  "there is no package in its conda-meta");
    std::sort(installed_.begin(), installed_.end(),
              [](const Installed& a, const Installed& b) { return a.name < b.name; });
    return {};
  }

  void add_record(const Json& json) {
    Installed package{text_of(json, "name"), text_of(json, "version"), text_of(json, "channel"), {}};
    if (package.name.empty()) return;
    if (const auto depends = json.find("depends"); depends != json.end() && depends->is_array())
      for (const Json& need : *depends)
        if (need.is_string()) package.needs.push_back(package_name(need.get_ref<const std::string&>()));
    if (const auto files = json.find("files"); files != json.end() && files->is_array())
      for (const Json& file : *files)
        if (file.is_string() && file.get_ref<const std::string&>().ends_with("-info/METADATA"))
          condas_.insert(fs::path(file.get_ref<const std::string&>()).parent_path().filename());
    installed_.push_back(std::move(package));
  }

  void add_conda() {
    if (const auto history = read_file(directory_ + "/conda-meta/history", kRecordLimit))
      spec_.conda = asked_specs(history->text);
    std::erase_if(spec_.conda, [&](const std::string& spec) {
      const std::string name = package_name(spec);
      return std::none_of(installed_.begin(), installed_.end(),
                          [&](const Installed& one) { return one.name == name; });
    });
    if (!spec_.conda.empty()) return;
    spec_.notes.push_back("'" + directory_ +
                          "' does not say what was asked for: taken over is what no other package needs");
    std::set<std::string> needed;
    for (const Installed& package : installed_) needed.insert(package.needs.begin(), package.needs.end());
    for (const Installed& package : installed_)
      if (!needed.contains(package.name) || package.name == "python")
        spec_.conda.push_back(package.name + "=" + package.version);
  }

  void add_channels() {
    std::map<std::string, int> counts;
    for (const Installed& package : installed_)
      if (const std::string name = channel_name(package.channel); !name.empty()) ++counts[name];
    for (const auto& [name, count] : counts) spec_.channels.push_back(name);
    std::stable_sort(spec_.channels.begin(), spec_.channels.end(),
                     [&](const std::string& a, const std::string& b) { return counts[a] > counts[b]; });
  }

  void add_variables() {
    const auto file = read_file(directory_ + "/conda-meta/state", kMetadataLimit);
    const auto json = file ? parse_json(file->text, "state") : tl::unexpected(file.error());
    if (!json || !json->is_object()) return;
    if (const auto variables = json->find("env_vars"); variables != json->end() && variables->is_object())
      for (const auto& [name, value] : variables->items())
        if (value.is_string() && value != "***unset***") spec_.variables[name] = value.get<std::string>();
  }

  // ---- what pip has put beside

  void add_pip() {
    std::error_code error;
    std::vector<fs::path> found;
    for (const auto& python : fs::directory_iterator(directory_ + "/lib", error)) {
      if (!python.path().filename().string().starts_with("python3")) continue;
      for (const auto& entry : fs::directory_iterator(python.path() / "site-packages", error))
        if (entry.path().extension() == ".dist-info" && !condas_.contains(entry.path().filename()))
          found.push_back(entry.path());
    }
    std::sort(found.begin(), found.end());
    for (const fs::path& directory : found) add_distribution(directory);
    const bool has_pip = std::any_of(spec_.conda.begin(), spec_.conda.end(),
                                     [](const std::string& spec) { return package_name(spec) == "pip"; });
    if (!spec_.pip.empty() && !has_pip) spec_.conda.push_back("pip");
  }

  void add_distribution(const fs::path& directory) {
    const auto metadata = read_file(directory / "METADATA", kMetadataLimit);
    if (!metadata) return;
    std::string name, version;
    for (const std::string_view line : split(metadata->text, '\n')) {
      if (trim(line).empty()) break;
      if (line.starts_with("Name:") && name.empty()) name = trim(line.substr(5));
      if (line.starts_with("Version:") && version.empty()) version = trim(line.substr(8));
    }
    if (name.empty() || version.empty()) return;
    spec_.pip.push_back(origin(directory, name).value_or(name + "==" + version));
  }

  // What was not from an index says where it is from (PEP 610).
  static std::optional<std::string> origin(const fs::path& directory, const std::string& name) {
    const auto file = read_file(directory / "direct_url.json", kMetadataLimit);
    const auto json = file ? parse_json(file->text, "direct_url.json") : tl::unexpected(file.error());
    if (!json || !json->is_object()) return std::nullopt;
    const std::string url = without_credentials(text_of(*json, "url"));
    if (const auto vcs = json->find("vcs_info"); vcs != json->end() && vcs->is_object())
      return name + " @ " + text_of(*vcs, "vcs") + "+" + url + "@" + text_of(*vcs, "commit_id");
    if (!json->contains("dir_info")) return name + " @ " + url;
    const auto editable = json->at("dir_info").find("editable");
    const bool is_editable =
        editable != json->at("dir_info").end() && editable->is_boolean() && editable->get<bool>();
    const std::string path = url.starts_with("file://") ? url.substr(7) : url;
    return (is_editable ? "-e " : "") + percent_decode(path).value_or(path);
  }

  const std::string& directory_;
  NewSpec spec_;
  std::vector<Installed> installed_;
  std::set<std::string> condas_;  // dist-info directories that belong to conda packages
};

}  // namespace

Result<NewSpec> from_prefix(const std::string& prefix) { return Prefix(prefix).read(); }

}  // namespace pinstep
