#include <algorithm>
#include <filesystem>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/channel/channel.h"
#include "envtools/yaml/yaml.h"

namespace pinstep {
namespace {

constexpr std::size_t kCondarcLimit = 1 << 20;  // bytes

using List = std::vector<std::string>;

tl::unexpected<Error> fail_at(const std::string& path, int line, const std::string& cause) {
  return fail(ErrorKind::invalid, location(path, line) + cause);
}

std::string in_quotes(std::string_view key) { return "'" + printable(key) + "'"; }

bool is_one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

// One file over what is there already.
class Merging {
 public:
  Merging(ChannelConfig& config, std::string_view text, const std::string& path)
      : config_(config), lines_(split(text, '\n')), path_(path) {}

  Result<void> merge(const YamlNode& root) {
    root_ = &root;
    list("channels", config_.channels);
    list("default_channels", config_.defaults);
    list("migrated_channel_aliases", config_.migrated_aliases);
    for (const char* key : {"allowlist_channels", "whitelist_channels"}) list(key, config_.allowed);
    list("denylist_channels", config_.denied);
    lists("custom_multichannels", config_.multichannels);
    lists("mirrored_channels", config_.mirrored);
    texts("custom_channels", config_.custom, "'name: URL'", "a URL");
    texts("proxy_servers", config_.proxies, "'http: URL'", "a URL");
    alias();
    priority();
    certificates();
    return done_;
  }

 private:
  // The value of a key that this file may still decide about.
  const YamlNode* value(const std::string& key) {
    const YamlNode* node = done_ ? root_->find(key) : nullptr;
    if (node == nullptr || node->is_null() || config_.final_keys.contains(key)) return nullptr;
    for (const YamlKey& written : root_->keys)
      if (written.text == key && is_final(written.line)) config_.final_keys.insert(key);
    return node;
  }

  bool is_final(int line) const {
    const auto index = static_cast<std::size_t>(line) - 1;
    return index < lines_.size() && lines_[index].find("#!final") != std::string_view::npos;
  }

  Result<List> read_list(const YamlNode& node, const std::string& key) const {
    if (!node.is_sequence()) return fail_at(path_, node.line, in_quotes(key) + " is not a list");
    List read;
    for (const YamlNode& item : node.items) {
      if (!item.is_scalar()) return fail_at(path_, item.line, "a channel is a name, a URL or a path");
      if (item.text != "nodefaults") read.emplace_back(trim(item.text));
    }
    return read;
  }

  void list(const std::string& key, List& target) {
    const YamlNode* node = value(key);
    if (node == nullptr) return;
    auto read = read_list(*node, key);
    if (!read) {
      done_ = tl::unexpected(read.error());
      return;
    }
    for (std::string& old : target)
      if (std::find(read->begin(), read->end(), old) == read->end()) read->push_back(std::move(old));
    target = std::move(*read);
  }

  void lists(const std::string& key, std::map<std::string, List>& target) {
    const YamlNode* node = value(key);
    if (node == nullptr) return;
    if (!node->is_map()) done_ = fail_at(path_, node->line, in_quotes(key) + " is not made of lists");
    for (std::size_t i = 0; done_ && i < node->items.size(); ++i) {
      auto read = read_list(node->items[i], node->keys[i].text);
      if (!read)
        done_ = tl::unexpected(read.error());
      else if (!read->empty())
        target[node->keys[i].text] = std::move(*read);
    }
  }

  void texts(const std::string& key, std::map<std::string, std::string>& target, const char* lines,
             const char* what) {
    const YamlNode* node = value(key);
    if (node == nullptr) return;
    if (!node->is_map()) done_ = fail_at(path_, node->line, in_quotes(key) + " is not made of lines " + lines);
    for (std::size_t i = 0; done_ && i < node->items.size(); ++i) {
      const YamlNode& item = node->items[i];
      if (item.is_scalar())
        target[node->keys[i].text] = trim(item.text);
      else if (item.is_null())
        target.erase(node->keys[i].text);
      else
        done_ = fail_at(path_, item.line, in_quotes(node->keys[i].text) + " is not " + what);
    }
  }

  void alias() {
    const YamlNode* node = value("channel_alias");
    if (node == nullptr) return;
    if (!node->is_scalar() || trim(node->text).empty())
      done_ = fail_at(path_, node->line, "'channel_alias' is not a URL");
    else
      config_.alias = trim(node->text);
  }

  // Once it was a truth value: whether channels have priorities at all.
  void priority() {
    const YamlNode* node = value("channel_priority");
    if (node == nullptr) return;
    const std::string word = node->is_scalar() ? to_lower(trim(node->text)) : "";
    if (is_one_of(word, {"flexible", "true", "yes", "on"}))
      config_.priority = "flexible";
    else if (is_one_of(word, {"disabled", "false", "no", "off"}))
      config_.priority = "disabled";
    else if (word == "strict")
      config_.priority = "strict";
    else
      done_ = fail_at(path_, node->line, "'channel_priority' is neither strict, flexible nor disabled");
  }

  // Certificates are checked whatever a file says: the index decides what is installed.
  void certificates() {
    const YamlNode* node = value("ssl_verify");
    if (node == nullptr) return;
    const std::string text(node->is_scalar() ? trim(node->text) : "");
    const bool is_path = text.starts_with('/') || text.starts_with('~') || text.starts_with('$');
    config_.certificates = is_path ? text : "";
  }

  ChannelConfig& config_;
  const std::vector<std::string_view> lines_;
  const std::string& path_;
  const YamlNode* root_ = nullptr;
  Result<void> done_;
};

// The files that a place stands for; of a directory those that end like YAML, by name.
List files_at(const std::string& place) {
  if (!place.ends_with('/')) return {place};
  List files;
  std::error_code ignored;
  for (std::filesystem::directory_iterator entry(place, ignored), end; !ignored && entry != end;
       entry.increment(ignored))
    if (is_one_of(entry->path().extension().string(), {".yml", ".yaml"}))
      files.push_back(entry->path().string());
  std::sort(files.begin(), files.end());
  return files;
}

}  // namespace

Result<void> merge_condarc(ChannelConfig& config, std::string_view text, const std::string& path) {
  const auto root = parse_yaml(text, path);
  if (!root) return tl::unexpected(root.error());
  if (root->is_null()) return {};
  if (!root->is_map()) return fail_at(path, root->line, "a .condarc file is made of keys");
  ChannelConfig merged = config;
  const auto done = Merging(merged, text, path).merge(*root);
  if (done) config = std::move(merged);
  return done;
}

std::vector<std::string> condarc_places(const Environment& environment) {
  const auto value = [&](const char* name) { return std::string(environment.get(name).value_or("")); };
  List places;
  const auto below = [&](const std::string& directory) {
    if (!directory.starts_with('/')) return;
    for (const char* name : {"/.condarc", "/condarc", "/condarc.d/"}) places.push_back(directory + name);
  };
  below("/etc/conda");
  below("/var/lib/conda");
  std::string root = value("CONDA_ROOT");
  if (const std::string program = value("CONDA_EXE"); root.empty() && program.ends_with("/bin/conda"))
    root = program.substr(0, program.size() - std::string_view("/bin/conda").size());
  below(root);
  if (const std::string home = value("HOME"); !home.empty()) {
    const std::string config = value("XDG_CONFIG_HOME");
    if (!config.empty() && config != home + "/.config") below(config + "/conda");
    below(home + "/.config/conda");
    below(home + "/.conda");
    places.push_back(home + "/.condarc");
  }
  if (const std::string own = value("CONDARC"); !own.empty()) places.push_back(own);
  return places;
}

Result<ChannelConfig> load_channel_config(const Environment& environment,
                                          const std::map<std::string, std::string>& named,
                                          const std::string& root) {
  ChannelConfig config = built_in_channel_config();
  config.environment = environment;
  config.named = named;
  for (const std::string& place : condarc_places(environment))
    for (const std::string& path : files_at(root + place)) {
      const auto file = read_file(path, kCondarcLimit, Links::followed);
      if (!file && file.error().kind == ErrorKind::not_found) continue;
      if (!file) return tl::unexpected(file.error());
      if (const auto merged = merge_condarc(config, file->text, path); !merged)
        return tl::unexpected(merged.error());
    }
  return config;
}

}  // namespace pinstep
