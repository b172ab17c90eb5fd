#include "envtools/cli/building.h"

#include <unistd.h>

#include "envtools/channel/channel.h"
#include "envtools/pin/pin.h"

namespace pinstep::cli {
namespace {

// Where a channel of the lock is found here. A lock names channels and says what URL each had. What the
// configuration names counts first; what would only follow the alias counts where that is how the lock got
// its URL.
std::map<std::string, std::string> channel_urls(const Lock& lock, const ChannelConfig& config) {
  std::map<std::string, std::string> urls;
  for (const LockedChannel& channel : lock.channels) {
    const auto here = expand_channel(channel.name, config);
    const auto usual = expand_channel(channel.name, built_in_channel_config());
    if (!here || here->size() != 1) continue;
    const bool is_named = config.named.contains(channel.name) || config.custom.contains(channel.name);
    const bool follows_alias = usual && usual->size() == 1 && usual->front().url == channel.url;
    if (is_named || follows_alias) urls[channel.name] = here->front().url;
  }
  return urls;
}

}  // namespace

BuildOptions build_options(const Settings& settings) { return {settings.compile}; }

Result<BuildJob> build_job(const World& world, const Place& place, const ChosenLock& lock,
                           const BuildOptions& options) {
  const auto channels = load_channel_config(world.environment, place.settings.channels);
  if (!channels) return tl::unexpected(channels.error());
  BuildJob job;
  job.lock_text = lock.file.text;
  job.lock_path = lock.file.path;
  job.platform = own_platform();
  job.name = lock.name;
  job.options = options;
  job.store = place.stores.front().directory();
  for (const Store& store : place.stores) job.stores.push_back(store.directory());
  job.trusted_uids = place.settings.trusted_uids;
  job.channel_urls = channel_urls(lock.lock, *channels);
  job.fetch_program = private_file("pinstep-fetch");
  job.jobs = static_cast<int>(place.settings.jobs);
  job.progress = ::isatty(STDERR_FILENO) != 0;
  return job;
}

}  // namespace pinstep::cli
