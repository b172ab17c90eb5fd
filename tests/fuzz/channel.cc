// An entry becomes channels that have neither credentials nor a trailing slash, and whose URLs lead back to
// them; what opens a URL is taken off it again; a .condarc is read or refused with a line.
#include <algorithm>

#include "envtools/channel/access.h"
#include "tests/fuzz/check.h"

using namespace pinstep;

namespace {

void check_channel(const Channel& channel, const ChannelConfig& config) {
  CHECK(!channel.name.empty() && channel.url.find("://") != std::string::npos);
  CHECK(without_credentials(channel.url) == channel.url);
  CHECK(!channel.url.ends_with('/') || channel.url.ends_with("://"));
  const auto again = expand_channel(channel.url, config);
  CHECK(again && again->size() == 1 && again->front().url == channel.url);
  for (const std::string& mirror : channel.mirrors) CHECK(without_credentials(mirror) == mirror);
  const std::string file = channel.url + "/linux-64/x.conda";
  CHECK(without_credentials(with_credentials(file, credentials_of(config))) == file);
  const auto urls = urls_here(channel.name, channel.url, config);
  CHECK(std::find(urls.begin(), urls.end(), channel.url) != urls.end());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = fuzz::as_text(data, size);
  const std::string entry(fuzz::take_text(input));

  const std::string clean = without_credentials(entry);
  CHECK(clean.size() <= entry.size() && without_credentials(clean) == clean);
  const std::string line = without_credentials_anywhere(entry);
  CHECK(line.size() <= entry.size() && without_credentials_anywhere(line) == line);

  ChannelConfig config = built_in_channel_config();
  config.environment = Environment({{"HOME", "/h"}});
  config.named = {{"local", "/srv/c"}, {"m", "https://m.example.org/x/"}};
  const auto merged = merge_condarc(config, input, "/f");
  CHECK(merged || (merged.error().kind == ErrorKind::invalid && merged.error().cause.starts_with("/f:")));

  const auto channels = expand_channel(entry, config);
  if (!channels) {
    CHECK(channels.error().kind == ErrorKind::invalid || channels.error().kind == ErrorKind::refused);
    return 0;
  }
  for (const Channel& channel : *channels) check_channel(channel, config);
  const auto known = known_channels(config);
  for (const Channel& channel : known)
    CHECK(channel_of(channel.url + "/linux-64/x.conda", known)->rest == "linux-64/x.conda");
  return 0;
}
