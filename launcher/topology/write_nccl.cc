#include "launcher/topology/write_nccl.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <set>

namespace pinstep {
namespace {

struct Device {
  PciAddress address;
  const char* pci_class;
  const Locality* at;
  std::uint32_t node;
};

std::uint32_t first_of(const Bits& nodes) { return nodes.empty() ? 0 : nodes.numbers().front(); }

// One for each address: a card may have several ports. In bus order within each place.
std::vector<Device> devices_of(const Machine& machine) {
  std::map<PciAddress, Device> devices;
  for (const Gpu& gpu : machine.gpus)
    devices.insert(
        {gpu.address,
         {gpu.address, gpu.vendor == Vendor::nvidia ? "0x030200" : "0x038000", &gpu.at, first_of(gpu.home())}});
  for (const Nic& nic : machine.nics)
    if (nic.is_on_bus)
      devices.insert({nic.address,
                      {nic.address, nic.network == Network::fabric ? "0x020700" : "0x020000", &nic.at,
                       first_of(nic.at.nodes)}});
  std::vector<Device> list;
  for (const auto& [address, device] : devices) list.push_back(device);
  std::stable_sort(list.begin(), list.end(),
                   [](const Device& a, const Device& b) { return a.at->bridges < b.at->bridges; });
  return list;
}

// "ffff,ffffffff": words of 32 hardware threads, the last one holding 0 to 31.
std::string mask_text(const Bits& bits) {
  std::vector<std::uint32_t> words(1, 0);
  for (const std::uint32_t bit : bits.numbers()) {
    if (bit / 32 >= words.size()) words.resize(bit / 32 + 1, 0);
    words[bit / 32] |= 1U << bit % 32;
  }
  std::string text;
  for (std::size_t i = words.size(); i-- > 0;) {
    char word[16];
    std::snprintf(word, sizeof word, "%08x", words[i]);
    text += (text.empty() ? "" : ",") + std::string(word);
  }
  return text;
}

class Writer {
 public:
  explicit Writer(const Machine& machine) : machine_(machine), devices_(devices_of(machine)) {}

  std::string all() {
    out_ = "<system version=\"1\">\n";
    std::set<std::uint32_t> nodes;
    for (const Core& core : machine_.cores) nodes.insert(core.node);
    for (const Device& device : devices_) nodes.insert(device.node);
    for (const std::uint32_t node : nodes) {
      Bits threads;
      for (const Core& core : machine_.cores)
        if (core.node == node) threads.add(core.pus);
      std::vector<Device> near;
      for (const Device& device : devices_)
        if (device.node == node) near.push_back(device);
      line(1, "<cpu numaid=\"" + std::to_string(node) + "\" affinity=\"" + mask_text(threads) + "\">");
      below(near.begin(), near.end(), 0, 2, false);
      line(1, "</cpu>");
    }
    return out_ + "</system>\n";
  }

 private:
  using At = std::vector<Device>::const_iterator;

  void line(int depth, const std::string& text) {
    out_ += std::string(static_cast<std::size_t>(2 * depth), ' ') + text + "\n";
  }

  void open_switch(int depth) {
    char address[32];
    std::snprintf(address, sizeof address, "ffff:ff:%02x.%x", switches_ / 8 % 32, switches_ % 8);
    ++switches_;
    line(depth, "<pci busid=\"" + std::string(address) +
                    "\" class=\"0x060400\" link_speed=\"32.0 GT/s PCIe\" link_width=\"16\">");
  }

  // Devices whose first `common` bridges are the same ones, all of them below a switch or all directly at the
  // node.
  void below(At begin, At end, std::size_t common, int depth, bool in_switch) {
    while (begin != end) {
      const auto& bridges = begin->at->bridges;
      if (bridges.size() <= common) {
        device(*begin++, depth);
        continue;
      }
      const At next = std::find_if(begin, end, [&](const Device& other) {
        return other.at->bridges.size() <= common || other.at->bridges[common] != bridges[common];
      });
      group(begin, next, common, depth, in_switch);
      begin = next;
    }
  }

  // Devices that share one bridge more. A switch is where they part; what only leads to it is not shown.
  void group(At begin, At end, std::size_t common, int depth, bool in_switch) {
    const std::size_t parts = shared(begin, end);
    if (end - begin == 1) {
      // Farther from the switch than its ports: PXB.
      const bool is_far = in_switch && begin->at->bridges.size() - common > 1;
      if (is_far) open_switch(depth);
      device(*begin, depth + is_far);
      if (is_far) line(depth, "</pci>");
    } else if (parts < 2) {
      below(begin, end, parts, depth, in_switch);  // a host bridge
    } else {
      open_switch(depth);
      below(begin, end, parts, depth + 1, true);
      line(depth, "</pci>");
    }
  }

  static std::size_t shared(At begin, At end) {
    std::size_t count = begin->at->bridges.size();
    for (At one = begin; one != end; ++one) {
      const auto parted = std::mismatch(begin->at->bridges.begin(), begin->at->bridges.end(),
                                        one->at->bridges.begin(), one->at->bridges.end());
      count = std::min(count, static_cast<std::size_t>(parted.first - begin->at->bridges.begin()));
    }
    return count;
  }

  void device(const Device& device, int depth) {
    line(depth, "<pci busid=\"" + device.address.text() + "\" class=\"" + device.pci_class + "\"/>");
  }

  const Machine& machine_;
  const std::vector<Device> devices_;
  std::string out_;
  unsigned switches_ = 1;
};

}  // namespace

std::string write_nccl_topology(const Machine& machine) { return Writer(machine).all(); }

}  // namespace pinstep
