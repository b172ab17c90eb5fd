#include "launcher/topology/nccl_topology.h"

#include <algorithm>
#include <set>

#include "envtools/base/text.h"
#include "launcher/topology/pci_ids.h"
#include "launcher/topology/xml.h"

namespace pinstep {
namespace {

std::string_view attribute(const pugi::xml_node& node, const char* name) {
  return node.attribute(name).as_string();
}

// "0x0302" or "0302"; 0 for what is none.
std::uint32_t hexadecimal(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint32_t value = 0;
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  return error == std::errc{} && rest == text.data() + text.size() ? value : 0;
}

// "16 GT/s" or "32.0 GT/s PCIe", times the lanes, in Mb/s; what coding takes of it is the same for all that
// are compared.
std::uint32_t bus_rate(const pugi::xml_node& pci) {
  const double transfers = pci.attribute("link_speed").as_double();
  const double lanes = pci.attribute("link_width").as_double();
  const double rate = transfers * lanes * 1000;
  return rate > 0 && rate < 1e8 ? static_cast<std::uint32_t>(rate) : 0;
}

PciIds ids_of(const pugi::xml_node& pci) {
  const std::uint32_t type = hexadecimal(attribute(pci, "class"));
  return {static_cast<std::uint16_t>(type >> 8),
          static_cast<std::uint16_t>(hexadecimal(attribute(pci, "vendor"))),
          static_cast<std::uint16_t>(hexadecimal(attribute(pci, "device")))};
}

class Reader {
 public:
  explicit Reader(std::string_view file) : file_(file) {}

  Result<NcclTopology> read(const pugi::xml_node& system) {
    std::set<std::string_view> hosts;
    for (const pugi::xml_node& cpu : system.children("cpu")) hosts.insert(attribute(cpu, "host_hash"));
    if (hosts.size() > 1)
      return fail(ErrorKind::unsupported, named("describes several hosts"), "a map is that of one node");
    for (const pugi::xml_node& cpu : system.children("cpu"))
      if (const auto done = read_cpu(cpu); !done) return tl::unexpected(done.error());
    if (cpus_ == 0) return fail(ErrorKind::corrupt, named("has no <cpu>"));
    if (unknown_ > 0)
      found_.machine.doubts.push_back(named("does not tell what " + std::to_string(unknown_) + " devices are"));
    if (found_.machine.cores.empty()) found_.machine.doubts.push_back(named("names no processors"));
    put_in_order(found_.machine);
    return std::move(found_);
  }

 private:
  std::string named(std::string_view what) const { return "'" + std::string(file_) + "' " + std::string(what); }

  Result<void> read_cpu(const pugi::xml_node& cpu) {
    // NCCL writes -1 where the system has no memory nodes.
    const std::string_view number = attribute(cpu, "numaid");
    const auto node = number == "-1" || number.empty() ? cpus_ : parse_number<std::uint32_t>(number);
    const auto pus = Bits::parse_mask(attribute(cpu, "affinity")).value_or(Bits());
    if (!node || *node >= Bits::kLimit)
      return fail(ErrorKind::corrupt, named("has a wrong numaid, '" + printable(number) + "'"));
    if (!attribute(cpu, "affinity").empty() && !Bits::parse_mask(attribute(cpu, "affinity")))
      return fail(ErrorKind::corrupt,
                  named("has a wrong affinity, '" + printable(attribute(cpu, "affinity")) + "'"));
    for (const std::uint32_t pu : pus.numbers()) {
      if (found_.machine.allowed.has(pu)) continue;
      found_.machine.allowed.add(pu);
      found_.machine.cores.push_back({{pu}, *node, *node});
    }
    const Locality at{{bridges_++}, {*node}, {*node}};
    ++cpus_;
    for (const pugi::xml_node& child : cpu.children())
      if (const auto done = read_device(child, at); !done) return done;
    return {};
  }

  // A child of a <cpu> or a switch, that hangs where `at` says.
  Result<void> read_device(const pugi::xml_node& node, const Locality& at) {
    if (std::string_view(node.name()) == "nic") {
      read_nets(node, {}, at, {}, false);
      return {};
    }
    if (std::string_view(node.name()) != "pci") return {};
    const std::string_view text = attribute(node, "busid");
    const auto address = PciAddress::parse(text);
    if (!address) return fail(ErrorKind::corrupt, named("has a wrong busid, '" + printable(text) + "'"));
    if (node.child("pci")) return read_switch(node, at);
    if (!found_.places.emplace(*address, at).second)
      return fail(ErrorKind::corrupt, named("has two devices at '" + address->text() + "'"));
    const PciIds ids = ids_of(node);
    if (node.child("gpu") || ids.is_display() || ids.is_processor())
      read_gpu(node, *address, at);
    else if (node.child("nic") || ids.is_network())
      read_nic(node, *address, at);
    else if (ids.type == 0)
      ++unknown_;
    return {};
  }

  // Each thing at a switch has a port of its own: a bridge below the switch's.
  Result<void> read_switch(const pugi::xml_node& node, const Locality& at) {
    Locality inside = at;
    inside.bridges.push_back(bridges_++);
    inside.bridges.push_back(0);
    for (const pugi::xml_node& child : node.children()) {
      inside.bridges.back() = bridges_++;
      if (const auto done = read_device(child, inside); !done) return done;
    }
    return {};
  }

  void read_gpu(const pugi::xml_node& node, const PciAddress& address, const Locality& at) {
    const PciIds ids = ids_of(node);
    const pugi::xml_node gpu_node = node.child("gpu");
    // AMD's RCCL writes the same files with attributes of its own; files for virtual machines have no vendor.
    const bool is_amd = ids.vendor == kAmd || gpu_node.attribute("gcn") ||
                        (ids.vendor == 0 && (ids.type == 0x0380 || ids.is_processor()));
    Gpu gpu;
    gpu.address = address;
    gpu.vendor = is_amd ? Vendor::amd : Vendor::nvidia;
    gpu.at = at;
    found_.machine.gpus.push_back(std::move(gpu));
  }

  void read_nic(const pugi::xml_node& node, const PciAddress& address, const Locality& at) {
    const PciIds ids = ids_of(node);
    const std::size_t before = found_.machine.nics.size();
    for (const pugi::xml_node& nic : node.children("nic")) read_nets(nic, address, at, ids, true);
    // Without names it is still known where the card is.
    if (found_.machine.nics.size() == before) add_nic(address.text(), address, at, ids, false);
    for (std::size_t i = before; i < found_.machine.nics.size(); ++i)
      found_.machine.nics[i].bus_rate = bus_rate(node);
  }

  void read_nets(const pugi::xml_node& nic, const PciAddress& address, const Locality& at, const PciIds& ids,
                 bool is_on_bus) {
    std::set<std::string_view> names, repeated;
    for (const pugi::xml_node& net : nic.children("net"))
      if (!names.insert(attribute(net, "name")).second) repeated.insert(attribute(net, "name"));
    for (const pugi::xml_node& net : nic.children("net")) {
      std::string name = printable(attribute(net, "name"));
      const int port = net.attribute("port").as_int();
      if (repeated.contains(attribute(net, "name"))) name += ":" + std::to_string(port);
      // Ports of verbs devices count from 1; sockets have 0.
      Nic& added = add_nic(std::move(name), address, at, ids, port > 0);
      added.is_on_bus = is_on_bus;
      added.rate = static_cast<std::uint32_t>(std::max(0, net.attribute("speed").as_int()));
    }
  }

  Nic& add_nic(std::string name, const PciAddress& address, const Locality& at, const PciIds& ids,
               bool has_verbs) {
    Nic nic;
    nic.address = address;
    nic.name = std::move(name);
    nic.has_verbs = has_verbs;
    nic.network = ids.network(has_verbs);
    nic.is_virtual_function = ids.is_virtual_function();
    nic.is_processing_unit = ids.is_processing_unit();
    nic.at = at;
    return found_.machine.nics.emplace_back(std::move(nic));
  }

  std::string_view file_;
  NcclTopology found_;
  std::uint32_t bridges_ = 0;
  std::uint32_t cpus_ = 0;
  std::size_t unknown_ = 0;
};

}  // namespace

bool is_nccl_topology(std::string_view text) {
  // The root is the first element, after comments and declarations.
  for (std::size_t at = text.find('<'); at != std::string_view::npos; at = text.find('<', at)) {
    const std::string_view rest = text.substr(at);
    if (rest.starts_with("<!--"))
      at = text.find("-->", at);
    else if (rest.starts_with("<?") || rest.starts_with("<!"))
      at = text.find('>', at);
    else
      return rest.starts_with("<system") &&
             rest.find_first_of(" \t\r\n>/") == std::string_view("<system").size();
    if (at == std::string_view::npos) break;
  }
  return false;
}

Result<NcclTopology> parse_nccl_topology(std::string_view text, std::string_view name) {
  pugi::xml_document document;
  if (const auto done = parse_xml(text, name, document); !done) return tl::unexpected(done.error());
  return Reader(name).read(document.child("system"));
}

}  // namespace pinstep
