#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/channel/channel.h"
#include "envtools/yaml/yaml.h"

namespace pinstep {
namespace {

constexpr std::size_t kCondarcLimit = 1 << 20;  // bytes

tl::unexpected<Error> fail_at(const std::string& path, int line, const std::string& cause) {
  return fail(ErrorKind::invalid, location(path, line) + cause);
}

Result<void> read_list(std::vector<std::string>& target, const YamlNode& node, std::string_view key,
                       const std::string& path) {
  if (!node.is_sequence()) return fail_at(path, node.line, "'" + std::string(key) + "' is not a list");
  std::vector<std::string> list;
  for (const YamlNode& item : node.items) {
    if (!item.is_scalar()) return fail_at(path, item.line, "a channel is a name, a URL or a path");
    if (item.text != "nodefaults") list.emplace_back(trim(item.text));
  }
  target = std::move(list);
  return {};
}

Result<void> read_custom(std::map<std::string, std::string>& target, const YamlNode& node,
                         const std::string& path) {
  if (!node.is_map()) return fail_at(path, node.line, "'custom_channels' is not made of lines 'name: URL'");
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    if (!node.items[i].is_scalar())
      return fail_at(path, node.items[i].line, "'" + printable(node.keys[i].text) + "' is not a URL");
    target[node.keys[i].text] = trim(node.items[i].text);
  }
  return {};
}

}  // namespace

Result<void> merge_condarc(ChannelConfig& config, std::string_view text, const std::string& path) {
  const auto root = parse_yaml(text, path);
  if (!root) return tl::unexpected(root.error());
  if (root->is_null()) return {};
  if (!root->is_map()) return fail_at(path, root->line, "a .condarc file is made of keys");
  const auto value = [&](std::string_view key) {
    const YamlNode* node = root->find(key);
    return node == nullptr || node->is_null() ? nullptr : node;
  };
  ChannelConfig merged = config;
  Result<void> done;
  if (const YamlNode* alias = value("channel_alias")) {
    if (!alias->is_scalar() || trim(alias->text).empty())
      return fail_at(path, alias->line, "'channel_alias' is not a URL");
    merged.alias = trim(alias->text);
  }
  if (const YamlNode* custom = value("custom_channels")) done = read_custom(merged.custom, *custom, path);
  if (const YamlNode* list = value("default_channels"); done && list)
    done = read_list(merged.defaults, *list, "default_channels", path);
  if (const YamlNode* list = value("channels"); done && list)
    done = read_list(merged.channels, *list, "channels", path);
  if (done) config = std::move(merged);
  return done;
}

Result<ChannelConfig> load_channel_config(const Environment& environment,
                                          const std::map<std::string, std::string>& named) {
  ChannelConfig config = built_in_channel_config();
  config.environment = environment;
  config.named = named;
  const auto home = environment.get("HOME");
  std::string path(environment.get("CONDARC").value_or(""));
  if (path.empty() && home && !home->empty()) path = std::string(*home) + "/.condarc";
  if (path.empty()) return config;
  const auto file = read_file(path, kCondarcLimit, Links::followed);
  if (!file && file.error().kind == ErrorKind::not_found) return config;
  if (!file) return tl::unexpected(file.error());
  if (const auto merged = merge_condarc(config, file->text, path); !merged)
    return tl::unexpected(merged.error());
  return config;
}

}  // namespace pinstep
