#include "envtools/channel/access.h"

#include <algorithm>
#include <array>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"

namespace pinstep {
namespace {

constexpr std::size_t kPipFileLimit = 1 << 20;  // bytes

// Variables that name indexes, several separated by blanks or commas.
constexpr std::array<std::string_view, 8> kIndexVariables{
    "PIP_INDEX_URL", "PIP_EXTRA_INDEX_URL", "PIP_FIND_LINKS",     "UV_DEFAULT_INDEX",
    "UV_INDEX",      "UV_INDEX_URL",        "UV_EXTRA_INDEX_URL", "UV_FIND_LINKS"};

std::string expanded(std::string_view text, const Environment& environment) {
  return expand_variables(trim(text), environment).value_or(std::string(trim(text)));
}

bool lies_below(std::string_view url, std::string_view base) {
  return url.starts_with(base) && (url.size() == base.size() || url[base.size()] == '/');
}

// "https://host:8443" of a URL.
std::string_view host_of(std::string_view url) {
  const std::size_t scheme = url.find("://");
  return scheme == std::string_view::npos ? "" : url.substr(0, url.find_first_of("/?#", scheme + 3));
}

void note_index(Credentials& credentials, std::string_view url) { note_credentials(credentials, host_of(url)); }

// uv allows "NAME=URL".
void note_indexes(Credentials& credentials, std::string_view list) {
  while (!list.empty()) {
    const std::size_t end = std::min(list.find_first_of(" \t\n,"), list.size());
    std::string_view word = list.substr(0, end);
    if (const std::size_t equals = word.find('='); equals < word.find("://")) word.remove_prefix(equals + 1);
    note_index(credentials, word);
    list.remove_prefix(std::min(end + 1, list.size()));
  }
}

// pip's files in the order in which it reads them.
std::vector<std::string> pip_files(const Environment& environment) {
  const auto value = [&](const char* name) { return std::string(environment.get(name).value_or("")); };
  std::vector<std::string> files{"/etc/xdg/pip/pip.conf", "/etc/pip.conf"};
  if (const std::string home = value("HOME"); !home.empty()) {
    files.push_back(home + "/.pip/pip.conf");
    files.push_back((value("XDG_CONFIG_HOME").empty() ? home + "/.config" : value("XDG_CONFIG_HOME")) +
                    "/pip/pip.conf");
  }
  if (const std::string own = value("PIP_CONFIG_FILE"); !own.empty()) files.push_back(own);
  return files;
}

// The lines of an INI file are enough: a value that goes on in further lines holds URLs like the first.
void note_pip_file(Credentials& credentials, std::string_view text) {
  for (const std::string_view line : split(text, '\n')) {
    const std::string_view content = trim(line);
    if (content.empty() || content.starts_with('#') || content.starts_with(';')) continue;
    const std::size_t url = content.find("://");
    if (url == std::string_view::npos) continue;
    const std::size_t from = content.find_last_of(" \t=:,", url == 0 ? 0 : url - 1);
    note_indexes(credentials, from == std::string_view::npos ? content : content.substr(from + 1));
  }
}

}  // namespace

void note_credentials(Credentials& credentials, std::string_view url) {
  while (url.ends_with('/')) url.remove_suffix(1);
  std::string clean = without_credentials(url);
  if (clean != url && clean.find("://") != std::string::npos) credentials[std::move(clean)] = url;
}

Credentials credentials_of(const ChannelConfig& config) {
  Credentials credentials;
  const auto note = [&](const std::string& text) {
    note_credentials(credentials, expanded(text, config.environment));
  };
  note(config.alias);
  for (const auto& [name, base] : config.custom) note(base);
  for (const auto& list : {config.channels, config.defaults, config.migrated_aliases})
    std::for_each(list.begin(), list.end(), note);
  for (const auto& table : {config.multichannels, config.mirrored})
    for (const auto& [name, list] : table) std::for_each(list.begin(), list.end(), note);
  for (const auto& [name, url] : config.named) note(url);
  return credentials;
}

void add_index_credentials(Credentials& credentials, const Environment& environment) {
  for (const std::string& path : pip_files(environment))
    if (const auto file = read_file(path, kPipFileLimit, Links::followed))
      note_pip_file(credentials, file->text);
  for (const std::string_view name : kIndexVariables)
    if (const auto list = environment.get(name)) note_indexes(credentials, *list);
}

std::string with_credentials(std::string_view url, const Credentials& credentials) {
  if (without_credentials(url) != url) return std::string(url);
  const Credentials::value_type* longest = nullptr;
  for (const auto& entry : credentials)
    if (lies_below(url, entry.first) && (longest == nullptr || entry.first.size() > longest->first.size()))
      longest = &entry;
  return longest == nullptr ? std::string(url)
                            : longest->second + std::string(url.substr(longest->first.size()));
}

std::vector<std::string> opened(const std::vector<std::string>& urls, const Credentials& credentials) {
  std::vector<std::string> all;
  for (const std::string& url : urls) all.push_back(with_credentials(url, credentials));
  return all;
}

Access access_of(const ChannelConfig& config) {
  Access access;
  access.credentials = credentials_of(config);
  add_index_credentials(access.credentials, config.environment);
  for (const auto& [scheme, proxy] : config.proxies) {
    const std::string variable = scheme + "_proxy";
    std::string capitals = variable;
    std::transform(capitals.begin(), capitals.end(), capitals.begin(),
                   [](char c) { return c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c; });
    const bool is_set = config.environment.has(variable) || config.environment.has(capitals) ||
                        config.environment.has("all_proxy") || config.environment.has("ALL_PROXY");
    if (!is_set) access.proxies[scheme] = expanded(proxy, config.environment);
  }
  const bool has_own =
      std::any_of(kCertificateVariables.begin(), kCertificateVariables.end(),
                  [&](std::string_view name) { return !config.environment.get(name).value_or("").empty(); });
  if (!has_own) access.certificates = expanded(config.certificates, config.environment);
  return access;
}

}  // namespace pinstep
