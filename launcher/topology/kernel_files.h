// What hwloc does not tell about devices, from the kernel's own files.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "launcher/machine/machine.h"

namespace pinstep {

// Whose virtual function it is; nothing for another device, and in a virtual machine.
std::optional<PciAddress> physical_function(const PciAddress& address);
Link link_of_interface(const std::string& interface);
// In Mb/s; 0 where it is not known.
std::uint32_t rate_of_interface(const std::string& interface);
std::uint32_t rate_of_port(const std::string& verbs, unsigned port);

struct NvidiaDevice {
  std::uint32_t number = 0;  // of /dev/nvidia<number>
  std::string uuid;
};

// What NVIDIA's driver says below `proc` ("/proc"); empty without the driver.
std::map<PciAddress, NvidiaDevice> nvidia_devices(const std::string& proc);

}  // namespace pinstep
