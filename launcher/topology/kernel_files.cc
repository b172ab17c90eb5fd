#include "launcher/topology/kernel_files.h"

#include <dirent.h>
#include <unistd.h>

#include <memory>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"

namespace pinstep {
namespace {

NvidiaDevice parse_information(std::string_view text) {
  NvidiaDevice device;
  for (const std::string_view line : split(text, '\n')) {
    const auto halves = split_once(line, ':');
    if (!halves) continue;
    const std::string_view value = trim(halves->after);
    if (trim(halves->before) == "Device Minor") device.number = parse_number<std::uint32_t>(value).value_or(0);
    if (trim(halves->before) == "GPU UUID" && value.find('?') == std::string_view::npos) device.uuid = value;
  }
  return device;
}

}  // namespace

std::optional<PciAddress> physical_function(const PciAddress& address) {
  char target[256];  // "../0000:03:00.0"
  const std::string link = "/sys/bus/pci/devices/" + address.text() + "/physfn";
  const ssize_t length = ::readlink(link.c_str(), target, sizeof target);
  if (length <= 0) return std::nullopt;
  const std::string_view path(target, static_cast<std::size_t>(length));
  return PciAddress::parse(path.substr(path.rfind('/') + 1));
}

Link link_of_interface(const std::string& interface) {
  if (interface.empty()) return Link::unknown;
  const std::string state = read_kernel_file("/sys/class/net/" + interface + "/operstate");
  if (trim(state) == "up") return Link::up;
  return trim(state) == "down" ? Link::down : Link::unknown;
}

std::uint32_t rate_of_interface(const std::string& interface) {
  if (interface.empty()) return 0;
  const std::string speed = read_kernel_file("/sys/class/net/" + interface + "/speed");
  return parse_number<std::uint32_t>(trim(speed)).value_or(0);  // -1 without a link
}

std::uint32_t rate_of_port(const std::string& verbs, unsigned port) {
  const std::string path = "/sys/class/infiniband/" + verbs + "/ports/" + std::to_string(port) + "/rate";
  const std::string rate = read_kernel_file(path);  // "2.5 Gb/sec (1X SDR)"
  double gigabits = 0;
  const auto [rest, error] = std::from_chars(rate.data(), rate.data() + rate.size(), gigabits);
  return error == std::errc{} && gigabits > 0 && gigabits < 1e6 ? static_cast<std::uint32_t>(gigabits * 1000)
                                                                : 0;
}

std::map<PciAddress, NvidiaDevice> nvidia_devices(const std::string& proc) {
  std::map<PciAddress, NvidiaDevice> devices;
  const std::string top = proc + "/driver/nvidia/gpus";
  const std::unique_ptr<DIR, int (*)(DIR*)> directory(::opendir(top.c_str()), &::closedir);
  if (directory == nullptr) return devices;
  while (const dirent* entry = ::readdir(directory.get())) {
    const auto address = PciAddress::parse(entry->d_name);
    if (address)
      devices[*address] = parse_information(read_kernel_file(top + "/" + entry->d_name + "/information"));
  }
  return devices;
}

}  // namespace pinstep
