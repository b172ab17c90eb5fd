// Channels: names in specs and locks, URLs in configuration.
//
// A name is looked up in: pinstep's `channel.NAME=URL`, `mirrored_channels` of .condarc, `custom_channels` of
// it, else it follows `channel_alias` (conda's documented default where nobody set one). `defaults` and the
// names of `custom_multichannels` are lists of channels. Of names with '/' the longest beginning that is
// configured counts: channel.conda-forge=URL also moves conda-forge/label/dev.
//
// A URL that a configured name stands for gets that name, and so does one that ends as those of mirrors do:
// ".../pkgs/main" is pkgs/main, ".../anaconda/cloud/conda-forge" is conda-forge. Any other URL is its own name.
#pragma once

#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"

namespace pinstep {

struct Channel {
  std::string name;  // canonical: what locks and records say; a URL without credentials where it has no name
  std::string url;   // base, without trailing slash and credentials; "file:///…" for a directory
  std::vector<std::string> mirrors = {};  // further URLs of the kind, to be tried in their order

  bool operator==(const Channel&) const = default;
};

struct ChannelConfig {
  std::map<std::string, std::string> named;   // channel.NAME=URL of pinstep's configuration
  std::map<std::string, std::string> custom;  // custom_channels: NAME → URL that the name is appended to
  std::map<std::string, std::vector<std::string>> mirrored;       // mirrored_channels: NAME → URLs
  std::map<std::string, std::vector<std::string>> multichannels;  // custom_multichannels: NAME → URLs or names
  std::string alias;                                              // channel_alias; never empty
  std::vector<std::string> migrated_aliases;  // migrated_channel_aliases: URLs that the alias had
  std::vector<std::string> defaults;          // default_channels: URLs or names; empty: conda's documented ones
  std::vector<std::string> channels;          // channels of .condarc: for specs that name none
  std::vector<std::string> allowed, denied;   // allowlist_channels, denylist_channels
  std::string priority = "flexible";          // channel_priority: flexible, strict, disabled
  std::map<std::string, std::string> proxies;  // proxy_servers: "http", "https" → URL
  std::string certificates;                    // ssl_verify where it is a path
  std::set<std::string> final_keys;            // keys of .condarc marked "#!final": later files do not count
  Environment environment;                     // what `~` and $VAR in URLs and paths stand for
};

// Variables that name certificates, the first that is set counts (envtools/fetch).
inline constexpr std::array<std::string_view, 4> kCertificateVariables{"SSL_CERT_FILE", "REQUESTS_CA_BUNDLE",
                                                                       "CURL_CA_BUNDLE", "SSL_CERT_DIR"};

// What conda documents as its defaults, and nothing else.
ChannelConfig built_in_channel_config();

// The text of one .condarc over what is there already, as conda merges them: of a list the later file's entries
// come first, of a map its keys count. Keys that pinstep does not know are left alone. Errors: invalid with
// "PATH:LINE:".
Result<void> merge_condarc(ChannelConfig& config, std::string_view text, const std::string& path);

// Where conda looks for .condarc files, the weakest first; a name that ends in '/' is a directory of them. Not
// the environment that happens to be active ($CONDA_PREFIX): a lock must not depend on that.
std::vector<std::string> condarc_places(const Environment& environment);

// Built-in defaults, then the .condarc files below `root`, then pinstep's named channels.
Result<ChannelConfig> load_channel_config(const Environment& environment,
                                          const std::map<std::string, std::string>& named,
                                          const std::string& root = {});

// One entry of a spec's `channels:`; several for `defaults`.
// Errors: invalid (a relative path, an unknown scheme, an unset variable); refused (by allowlist_channels or
// denylist_channels).
Result<std::vector<Channel>> expand_channel(std::string_view entry, const ChannelConfig& config);

// The URLs to fetch a channel's files from here, in order, given what a lock says of it: what is configured
// here comes first, then the URL of the lock, then the name's usual place.
std::vector<std::string> urls_here(const std::string& name, const std::string& locked_url,
                                   const ChannelConfig& config);

// All channels that the configuration names, each once; those that cannot be expanded are left out.
std::vector<Channel> known_channels(const ChannelConfig& config);

// The channel that a package's URL lies in and the rest "linux-64/x.conda"; nothing where none fits.
struct InChannel {
  Channel channel;
  std::string rest;

  bool operator==(const InChannel&) const = default;
};
std::optional<InChannel> channel_of(std::string_view url, const std::vector<Channel>& channels);

// The URL with user, password and /t/TOKEN/ taken out: the only form that goes into locks, records and
// messages. The user of an ssh URL stays, as it is part of the address. What is no URL is returned as it is.
std::string without_credentials(std::string_view url);

// The same for every URL in a text, such as a line of a requirements file.
std::string without_credentials_anywhere(std::string_view text);

}  // namespace pinstep
