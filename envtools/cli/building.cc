#include "envtools/cli/building.h"

#include <unistd.h>

#include "envtools/channel/channel.h"
#include "envtools/pin/pin.h"

namespace pinstep::cli {
namespace {

// ".../c" of ".../c/linux-64/x-1-0.conda".
std::string base_of(const std::string& url) {
  const std::size_t file = url.rfind('/');
  const std::size_t subdir = file == std::string::npos || file == 0 ? file : url.rfind('/', file - 1);
  return subdir == std::string::npos ? "" : url.substr(0, subdir);
}

// A lock names channels and says what URL each had; lists of packages have only the packages' URLs.
std::map<std::string, std::vector<std::string>> channel_urls(const Lock& lock, const ChannelConfig& config) {
  std::map<std::string, std::vector<std::string>> urls;
  for (const LockedChannel& channel : lock.channels)
    if (!channel.url.empty()) urls.emplace(channel.url, urls_here(channel.name, channel.url, config));
  for (const LockedPackage& package : lock.packages) {
    const std::string base = package.manager == Manager::conda ? base_of(package.url) : "";
    if (base.empty() || urls.contains(base)) continue;
    const auto channel = expand_channel(base, config);
    if (channel && channel->size() == 1) urls.emplace(base, urls_here(channel->front().name, base, config));
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
  job.access = access_of(*channels);
  job.fetch_program = private_file("pinstep-fetch");
  job.jobs = static_cast<int>(place.settings.jobs);
  job.progress = ::isatty(STDERR_FILENO) != 0;
  return job;
}

}  // namespace pinstep::cli
