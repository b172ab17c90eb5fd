// Channels: names in specs and locks, URLs in configuration.
//
// A name is looked up in: pinstep's `channel.NAME=URL`, `custom_channels` of .condarc, else it follows
// `channel_alias` (conda's documented default where nobody set one). `defaults` is a list of channels.
// Of names with '/' the longest beginning that is configured counts: channel.conda-forge=URL also moves
// conda-forge/label/dev. A URL that a configured name stands for gets that name.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"

namespace pinstep {

struct Channel {
  std::string name;  // canonical: what locks and records say; a URL without credentials where it has no name
  std::string url;   // base, without trailing slash and credentials; "file:///…" for a directory

  bool operator==(const Channel&) const = default;
};

struct ChannelConfig {
  std::map<std::string, std::string> named;   // channel.NAME=URL of pinstep's configuration
  std::map<std::string, std::string> custom;  // custom_channels: NAME → URL that the name is appended to
  std::string alias;                          // channel_alias; never empty
  std::vector<std::string> defaults;          // default_channels: URLs or names
  std::vector<std::string> channels;          // channels of .condarc: for specs that name none
  Environment environment;                    // what `~` and $VAR in URLs and paths stand for
};

// What conda documents as its defaults, and nothing else.
ChannelConfig built_in_channel_config();

// The text of one .condarc over what is there already. Keys that pinstep does not know are left alone.
// Errors: invalid with "PATH:LINE:".
Result<void> merge_condarc(ChannelConfig& config, std::string_view text, const std::string& path);

// Built-in defaults, then $CONDARC or ~/.condarc, then pinstep's named channels.
Result<ChannelConfig> load_channel_config(const Environment& environment,
                                          const std::map<std::string, std::string>& named);

// One entry of a spec's `channels:`; several for `defaults`.
// Errors: invalid (a relative path, an unknown scheme, an unset variable).
Result<std::vector<Channel>> expand_channel(std::string_view entry, const ChannelConfig& config);

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

}  // namespace pinstep
