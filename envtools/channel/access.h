// What opens a channel or an index: credentials, proxies, certificates.
//
// Credentials are a value of their own, apart from the URLs that locks, records and messages show. They are for
// programs that fetch and reach them on standard input: never in arguments, environments, files or messages.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "envtools/channel/channel.h"

namespace pinstep {

// A URL without credentials → the same with user, password or /t/TOKEN: holds for it and for all below it.
using Credentials = std::map<std::string, std::string>;

// Adds what a URL brings; one without credentials, or that is no URL, adds nothing.
void note_credentials(Credentials& credentials, std::string_view url);

// Those in the URLs of a configuration.
Credentials credentials_of(const ChannelConfig& config);

// Those of pip's configuration files and of the variables of pip and uv that name indexes; they hold for all of
// an index's host, as its files need not lie below it. Files that cannot be read are left out.
void add_index_credentials(Credentials& credentials, const Environment& environment);

// The URL as it is fetched: of those that it lies below the longest counts. One that has credentials stays.
std::string with_credentials(std::string_view url, const Credentials& credentials);

std::vector<std::string> opened(const std::vector<std::string>& urls, const Credentials& credentials);

// What everybody who fetches over a network is told.
struct Access {
  Credentials credentials;
  std::map<std::string, std::string>
      proxies;               // "http", "https" → URL, with credentials; "" where none is asked for
  std::string certificates;  // file or directory; empty: the usual ones

  bool operator==(const Access&) const = default;
};

// `proxy_servers` and `ssl_verify` where the environment says nothing, and all credentials.
Access access_of(const ChannelConfig& config);

}  // namespace pinstep
