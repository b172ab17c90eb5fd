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

// How the URLs of mirrors end, wherever they begin.
constexpr std::array<std::string_view, 5> kMirroredChannels{"pkgs/main", "pkgs/r", "pkgs/msys2", "pkgs/free",
                                                            "pkgs/pro"};
constexpr std::string_view kMirroredCloud = "/anaconda/cloud/";

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

// The channels that a name stands for, where it is the name of several.
std::optional<std::vector<std::string>> several_of(const std::string& name, const ChannelConfig& config) {
  if (config.named.contains(name)) return {};
  if (const auto several = config.multichannels.find(name); several != config.multichannels.end())
    return several->second;
  if (name != "defaults") return {};
  if (!config.defaults.empty()) return config.defaults;
  return std::vector<std::string>{std::string(kDefaultChannels[0]), std::string(kDefaultChannels[1])};
}

// "pkgs/main" of ".../anaconda/pkgs/main", "conda-forge" of ".../anaconda/cloud/conda-forge".
std::string name_at_mirrors(std::string_view url) {
  for (const std::string_view name : kMirroredChannels)
    if (url.ends_with("/" + std::string(name))) return std::string(name);
  const std::size_t cloud = url.find(kMirroredCloud);
  const std::string_view rest =
      cloud == std::string_view::npos ? "" : url.substr(cloud + kMirroredCloud.size());
  return is_name(rest) ? std::string(rest) : std::string();
}

// What a name's first part is configured as: the longest one counts.
template <class Table>
std::optional<Halves> configured_part(std::string_view name, const Table& table) {
  for (std::size_t end = name.size();; end = name.rfind('/', end - 1)) {
    const std::string_view part = name.substr(0, end);
    if (table.find(std::string(part)) != table.end()) return Halves{part, name.substr(part.size())};
    if (part.find('/') == std::string_view::npos) return {};
  }
}

// What the name's mirrors are configured as.
Result<Channel> mirrored_channel(std::string_view name, const Halves& part, const ChannelConfig& config) {
  Channel channel{std::string(name), "", {}};
  for (const std::string& mirror : config.mirrored.find(std::string(part.before))->second) {
    auto url = base_url(mirror, config);
    if (!url) return tl::unexpected(url.error());
    *url += part.after;
    if (channel.url.empty())
      channel.url = std::move(*url);
    else if (*url != channel.url)
      channel.mirrors.push_back(std::move(*url));
  }
  return channel;
}

Result<Channel> configured_channel(std::string_view name, const ChannelConfig& config) {
  const auto at = [&](const std::string& base, const std::string& rest) -> Result<Channel> {
    auto url = base_url(base, config);
    if (!url) return tl::unexpected(url.error());
    return Channel{std::string(name), *url + rest};
  };
  if (const auto named = configured_part(name, config.named))
    return at(config.named.find(std::string(named->before))->second, std::string(named->after));
  if (const auto mirrored = configured_part(name, config.mirrored))
    return mirrored_channel(name, *mirrored, config);
  if (const auto custom = configured_part(name, config.custom))
    return at(config.custom.find(std::string(custom->before))->second, "/" + std::string(name));
  return at(config.alias, "/" + std::string(name));
}

Result<Channel> channel_of_name(std::string_view name, const ChannelConfig& config) {
  auto channel = configured_channel(name, config);
  if (channel) return channel;
  return fail(channel.error().kind, "channel '" + std::string(name) + "': " + channel.error().cause,
              channel.error().hint);
}

// The names that might stand for a URL, the likeliest first.
std::vector<std::string> names_of(std::string_view url, const ChannelConfig& config) {
  std::vector<std::string> names;
  const auto below = [&](const std::string& base) { return url.starts_with(base + "/"); };
  for (const auto& [name, where] : config.named) {
    const auto base = base_url(where, config);
    if (base && (url == *base || below(*base))) names.push_back(name + std::string(url.substr(base->size())));
  }
  for (const auto& [name, mirrors] : config.mirrored)
    for (const std::string& where : mirrors) {
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

bool is_at(const Channel& channel, const std::string& url) {
  return channel.url == url ||
         std::find(channel.mirrors.begin(), channel.mirrors.end(), url) != channel.mirrors.end();
}

Result<Channel> channel_of_url(std::string_view text, const ChannelConfig& config) {
  auto url = base_url(text, config);
  if (!url) return tl::unexpected(url.error());
  const auto of_one = [&](const std::string& name) { return is_name(name) && !several_of(name, config); };
  for (const std::string& name : names_of(*url, config)) {
    if (!of_one(name)) continue;
    const auto channel = channel_of_name(name, config);
    if (channel && is_at(*channel, *url)) return *channel;
  }
  for (const std::string& alias : config.migrated_aliases)
    if (const auto old = base_url(alias, config); old && url->starts_with(*old + "/"))
      if (const std::string name = url->substr(old->size() + 1); of_one(name))
        return channel_of_name(name, config);
  if (std::string name = name_at_mirrors(*url); !name.empty() && of_one(name))
    return Channel{std::move(name), *url};
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

// conda's names for what a site allows.
Result<void> check_policy(const Channel& channel, const ChannelConfig& config) {
  const auto is_of = [&](const std::vector<std::string>& list) {
    return std::any_of(list.begin(), list.end(), [&](const std::string& entry) {
      const auto several = several_of(without_subdir(entry), config);
      const auto parts = several ? *several : std::vector{entry};
      return std::any_of(parts.begin(), parts.end(), [&](const std::string& part) {
        const auto one = one_channel(part, config);
        return one && (one->name == channel.name || is_at(*one, channel.url));
      });
    });
  };
  if (!config.denied.empty() && is_of(config.denied))
    return fail(ErrorKind::refused, "channel '" + channel.name + "' is not allowed here: denylist_channels",
                "the .condarc of this place has that list");
  if (!config.allowed.empty() && !is_of(config.allowed))
    return fail(ErrorKind::refused, "channel '" + channel.name + "' is not one of allowlist_channels",
                "the .condarc of this place has that list");
  return {};
}

// Whether somebody has configured a place for just this name.
bool is_named(std::string_view name, const ChannelConfig& config) {
  return configured_part(name, config.named) || configured_part(name, config.mirrored) ||
         configured_part(name, config.custom);
}

}  // namespace

ChannelConfig built_in_channel_config() {
  const std::string scheme(kSchemes.front());
  ChannelConfig config;
  config.alias = scheme + std::string(kDefaultAliasHost);
  for (const std::string_view name : kDefaultChannels)
    config.custom.emplace(name, scheme + std::string(kDefaultChannelsHost));
  return config;
}

Result<std::vector<Channel>> expand_channel(std::string_view entry, const ChannelConfig& config) {
  entry = trim(entry);
  std::vector<Channel> channels;
  const auto several = several_of(without_subdir(entry), config);
  for (const std::string& part : several ? *several : std::vector{std::string(entry)}) {
    auto channel = one_channel(part, config);
    if (!channel) return tl::unexpected(channel.error());
    if (auto may_be = check_policy(*channel, config); !may_be) return tl::unexpected(may_be.error());
    channels.push_back(std::move(*channel));
  }
  return channels;
}

std::vector<std::string> urls_here(const std::string& name, const std::string& locked_url,
                                   const ChannelConfig& config) {
  std::vector<std::string> urls;
  const auto add = [&](const std::string& url) {
    if (!url.empty() && std::find(urls.begin(), urls.end(), url) == urls.end()) urls.push_back(url);
  };
  const auto add_all = [&](const Channel& channel) {
    add(channel.url);
    std::for_each(channel.mirrors.begin(), channel.mirrors.end(), add);
  };
  const auto here = one_channel(name, config);
  const auto usual = one_channel(name, built_in_channel_config());
  const bool is_configured = here && usual && here->url != usual->url;
  const bool was_usual = usual && usual->url == locked_url;
  // What would only follow an alias of this place counts first where that is how the lock got its URL.
  if (is_configured && (was_usual || is_named(name, config))) add_all(*here);
  add(locked_url);
  if (here) add_all(*here);
  return urls;
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
