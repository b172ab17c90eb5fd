#include "envtools/channel/channel.h"

#include <algorithm>
#include <array>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

constexpr std::array<std::string_view, 3> kSchemes{"https://", "http://", "file://"};
constexpr std::array<std::string_view, 7> kSubdirs{"noarch",      "linux-64", "linux-aarch64", "linux-ppc64le",
                                                   "linux-s390x", "osx-64",   "osx-arm64"};

// conda's documented hosts stand here and nowhere else.
constexpr std::string_view kDefaultAliasHost = "conda.anaconda.org";
constexpr std::string_view kDefaultChannelsHost = "repo.anaconda.com";
constexpr std::array<std::string_view, 3> kDefaultChannels{"pkgs/main", "pkgs/r", "pkgs/msys2"};

bool is_url(std::string_view text) { return text.find("://") != std::string_view::npos; }

std::string without_slash(std::string_view text) {
  while (text.ends_with('/') && !text.ends_with("://")) text.remove_suffix(1);
  return std::string(text);
}

// "…/c/linux-64/" is the channel "…/c".
std::string without_subdir(std::string_view text) {
  std::string channel = without_slash(text);
  for (const std::string_view subdir : kSubdirs)
    if (channel.ends_with("/" + std::string(subdir)))
      return without_subdir(channel.substr(0, channel.size() - subdir.size()));
  return channel;
}

// A part "t" would make the next one look like a token (without_credentials()).
bool is_name(std::string_view text) {
  const auto parts = split(text, '/');
  return std::all_of(parts.begin(), parts.end(), [](std::string_view part) {
    return !part.empty() && part != "." && part != ".." && part != "t" &&
           std::find(kSubdirs.begin(), kSubdirs.end(), part) == kSubdirs.end() &&
           std::all_of(part.begin(), part.end(), [](char c) {
             return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
                    c == '_' || c == '-';
           });
  });
}

Result<void> check_url(std::string_view url) {
  const std::string quoted = "'" + printable(url) + "'";
  if (!std::all_of(url.begin(), url.end(), [](char c) { return c > 0x20 && c < 0x7f; }))
    return fail(ErrorKind::invalid, quoted + " is not a URL",
                "blanks and what is not ASCII are written as %XX");
  const auto scheme = std::find_if(kSchemes.begin(), kSchemes.end(),
                                   [&](std::string_view known) { return url.starts_with(known); });
  if (scheme == kSchemes.end())
    return fail(ErrorKind::invalid, quoted + " is a URL of a kind unknown here",
                "there are https, http and file");
  const bool is_file = *scheme == "file://";
  const std::string_view rest = url.substr(scheme->size());
  if (rest.empty() || is_file != rest.starts_with('/'))
    return fail(ErrorKind::invalid, quoted + " is not a whole URL");
  if (!is_file && url.ends_with("/t"))
    return fail(ErrorKind::invalid, quoted + " ends like a URL with a token");
  return {};
}

// A URL or an absolute path as a base URL: without credentials, trailing slashes and platform.
Result<std::string> base_url(std::string_view text, const ChannelConfig& config) {
  const auto expanded = expand_variables(trim(text), config.environment);
  if (!expanded) return tl::unexpected(expanded.error());
  std::string url = *expanded;
  if (url.starts_with('/'))
    url = "file://" + percent_encode(url, "#?");
  else if (!is_url(url))
    return fail(ErrorKind::invalid, "'" + printable(url) + "' is neither a URL nor an absolute path");
  url = without_subdir(without_credentials(url));
  if (const auto good = check_url(url); !good) return tl::unexpected(good.error());
  return url;
}

// The name that stands for several channels.
bool is_defaults(std::string_view name, const ChannelConfig& config) {
  return name == "defaults" && config.named.find("defaults") == config.named.end();
}

// What a name's first part is configured as: the longest one counts.
std::optional<Halves> configured_part(std::string_view name, const std::map<std::string, std::string>& table) {
  for (std::size_t end = name.size();; end = name.rfind('/', end - 1)) {
    const std::string_view part = name.substr(0, end);
    if (table.find(std::string(part)) != table.end()) return Halves{part, name.substr(part.size())};
    if (part.find('/') == std::string_view::npos) return {};
  }
}

Result<Channel> channel_of_name(std::string_view name, const ChannelConfig& config) {
  Result<std::string> url;
  if (const auto named = configured_part(name, config.named)) {
    url = base_url(config.named.find(std::string(named->before))->second, config);
    if (url) *url += named->after;
  } else if (const auto custom = configured_part(name, config.custom)) {
    url = base_url(config.custom.find(std::string(custom->before))->second, config);
    if (url) *url += "/" + std::string(name);
  } else {
    url = base_url(config.alias, config);
    if (url) *url += "/" + std::string(name);
  }
  if (!url)
    return fail(url.error().kind, "channel '" + std::string(name) + "': " + url.error().cause,
                url.error().hint);
  return Channel{std::string(name), std::move(*url)};
}

// The names that might stand for a URL, the likeliest first.
std::vector<std::string> names_of(std::string_view url, const ChannelConfig& config) {
  std::vector<std::string> names;
  const auto below = [&](const std::string& base) { return url.starts_with(base + "/"); };
  for (const auto& [name, where] : config.named) {
    const auto base = base_url(where, config);
    if (base && (url == *base || below(*base))) names.push_back(name + std::string(url.substr(base->size())));
  }
  for (const auto& [name, where] : config.custom) {
    const auto base = base_url(where, config);
    const std::string whole = base ? *base + "/" + name : "";
    if (base && (url == whole || below(whole))) names.push_back(std::string(url.substr(base->size() + 1)));
  }
  if (const auto alias = base_url(config.alias, config); alias && below(*alias))
    names.push_back(std::string(url.substr(alias->size() + 1)));
  return names;
}

Result<Channel> channel_of_url(std::string_view text, const ChannelConfig& config) {
  auto url = base_url(text, config);
  if (!url) return tl::unexpected(url.error());
  for (const std::string& name : names_of(*url, config)) {
    if (!is_name(name) || is_defaults(name, config)) continue;
    const auto channel = channel_of_name(name, config);
    if (channel && channel->url == *url) return *channel;
  }
  return Channel{*url, *url};
}

Result<Channel> one_channel(std::string_view entry, const ChannelConfig& config) {
  if (is_url(entry) || entry.starts_with('/') || entry == "~" || entry.starts_with("~/") ||
      entry.starts_with('$'))
    return channel_of_url(entry, config);
  if (entry.starts_with('.'))
    return fail(ErrorKind::invalid, "channel '" + printable(entry) + "' is a relative path",
                "write it as an absolute path");
  const std::string name = without_subdir(entry);
  if (!is_name(name))
    return fail(ErrorKind::invalid, "'" + printable(entry) + "' is not the name of a channel");
  return channel_of_name(name, config);
}

}  // namespace

ChannelConfig built_in_channel_config() {
  const std::string scheme(kSchemes.front());
  ChannelConfig config;
  config.alias = scheme + std::string(kDefaultAliasHost);
  for (const std::string_view name : kDefaultChannels)
    config.custom.emplace(name, scheme + std::string(kDefaultChannelsHost));
  config.defaults = {"pkgs/main", "pkgs/r"};  // msys2 is for Windows
  return config;
}

Result<std::vector<Channel>> expand_channel(std::string_view entry, const ChannelConfig& config) {
  entry = trim(entry);
  std::vector<Channel> channels;
  const bool defaults = is_defaults(without_subdir(entry), config);
  for (const std::string& part : defaults ? config.defaults : std::vector{std::string(entry)}) {
    auto channel = one_channel(part, config);
    if (!channel) return tl::unexpected(channel.error());
    channels.push_back(std::move(*channel));
  }
  return channels;
}

std::vector<Channel> known_channels(const ChannelConfig& config) {
  std::vector<std::string> entries = config.channels;
  for (const auto& [name, url] : config.named) entries.push_back(name);
  for (const auto& [name, url] : config.custom) entries.push_back(name);
  entries.push_back("defaults");
  std::vector<Channel> known;
  for (const std::string& entry : entries)
    if (const auto channels = expand_channel(entry, config))
      for (const Channel& channel : *channels)
        if (std::find(known.begin(), known.end(), channel) == known.end()) known.push_back(channel);
  return known;
}

std::optional<InChannel> channel_of(std::string_view url, const std::vector<Channel>& channels) {
  const std::string clean = without_credentials(url);
  for (const Channel& channel : channels) {
    if (!clean.starts_with(channel.url + "/")) continue;
    std::string rest = clean.substr(channel.url.size() + 1);
    const auto halves = split_once(rest, '/');  // a subdirectory and a file, or the channel is another
    if (halves && !halves->before.empty() && !halves->after.empty() &&
        halves->after.find('/') == std::string_view::npos)
      return InChannel{channel, std::move(rest)};
  }
  return {};
}

}  // namespace pinstep
