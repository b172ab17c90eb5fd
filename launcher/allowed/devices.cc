#include "launcher/allowed/devices.h"

#include <dirent.h>
#include <fcntl.h>

#include <map>
#include <memory>
#include <vector>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "launcher/machine/machine.h"

namespace pinstep {
namespace {

bool opens(const std::string& file) {
  return UniqueFd(::open(file.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC)).valid();
}

// The numbers of the files <directory>/<prefix><number>.
std::vector<std::uint32_t> numbered(const std::string& directory, std::string_view prefix) {
  std::vector<std::uint32_t> numbers;
  const std::unique_ptr<DIR, int (*)(DIR*)> entries(::opendir(directory.c_str()), &::closedir);
  if (entries == nullptr) return numbers;
  while (const dirent* entry = ::readdir(entries.get())) {
    const std::string_view name = entry->d_name;
    if (!name.starts_with(prefix)) continue;
    if (const auto number = parse_number<std::uint32_t>(name.substr(prefix.size()))) numbers.push_back(*number);
  }
  return numbers;
}

// The bus address behind /sys/class/drm/renderD128/device, a link to ../../../0000:c1:00.0.
std::optional<PciAddress> address_behind(const std::string& link) {
  char target[512];
  const ssize_t size = ::readlink(link.c_str(), target, sizeof target);
  if (size <= 0) return std::nullopt;
  const std::string_view path(target, static_cast<std::size_t>(size));
  return PciAddress::parse(path.substr(path.rfind('/') + 1));
}

Bits openable_amd_gpus(const std::string& dev, const std::string& sys) {
  std::map<PciAddress, bool> by_address;
  for (const std::uint32_t number : numbered(sys + "/class/drm", "renderD")) {
    const std::string name = "renderD" + std::to_string(number);
    const std::string device = sys + "/class/drm/" + name + "/device";
    if (trim(read_kernel_file(device + "/vendor")) != "0x1002") continue;
    if (const auto address = address_behind(device)) by_address[*address] = opens(dev + "/dri/" + name);
  }
  Bits gpus;
  std::uint32_t place = 0;
  for (const auto& [address, can_be_opened] : by_address) {
    if (can_be_opened) gpus.add(place);
    ++place;
  }
  return gpus;
}

}  // namespace

Bits openable_gpus(const std::string& dev, const std::string& sys) {
  const auto nvidia = numbered(dev, "nvidia");
  if (nvidia.empty()) return openable_amd_gpus(dev, sys);
  Bits gpus;
  for (const std::uint32_t number : nvidia)
    if (opens(dev + "/nvidia" + std::to_string(number))) gpus.add(number);
  return gpus;
}

}  // namespace pinstep
