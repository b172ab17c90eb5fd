#include "launcher/allowed/devices.h"

#include <dirent.h>
#include <fcntl.h>

#include <memory>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"

namespace pinstep {

Bits openable_gpus(const std::string& directory) {
  constexpr std::string_view prefix = "nvidia";
  Bits gpus;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(directory.c_str()), &::closedir);
  if (entries == nullptr) return gpus;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(prefix)) continue;
    const auto number = parse_number<std::uint32_t>(name.substr(prefix.size()));
    if (!number) continue;
    const UniqueFd device(::open((directory + "/" + entry->d_name).c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
    if (device.valid()) gpus.add(*number);
  }
  return gpus;
}

}  // namespace pinstep
