#include "launcher/topology/hwloc_topology.h"

#include <hwloc.h>

#include <algorithm>
#include <memory>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "launcher/topology/hwloc_xml.h"
#include "launcher/topology/kernel_files.h"
#include "launcher/topology/pci_ids.h"

namespace pinstep {
namespace {

struct Destroy {
  void operator()(hwloc_topology_t topology) const { hwloc_topology_destroy(topology); }
};
// hwloc 3 has another osdev attribute, among others.
static_assert(HWLOC_API_VERSION < 0x00030000, "hwloc 2 is needed");

using Topology = std::unique_ptr<std::remove_pointer_t<hwloc_topology_t>, Destroy>;

Bits bits(hwloc_const_bitmap_t set) {
  Bits bits;
  if (set == nullptr || hwloc_bitmap_weight(set) < 0) return bits;
  for (int i = hwloc_bitmap_first(set); i >= 0; i = hwloc_bitmap_next(set, i))
    bits.add(static_cast<std::uint32_t>(i));
  return bits;
}

std::string_view info(hwloc_obj_t object, const char* name) {
  const char* value = hwloc_obj_get_info_by_name(object, name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

// ---- hwloc

Result<Topology> start() {
  hwloc_topology_t raw = nullptr;
  if (hwloc_topology_init(&raw) != 0) return fail(ErrorKind::os, "hwloc cannot start");
  Topology topology(raw);
  unsigned long flags = HWLOC_TOPOLOGY_FLAG_INCLUDE_DISALLOWED;
#if HWLOC_API_VERSION >= 0x00020800
  flags |= HWLOC_TOPOLOGY_FLAG_NO_CPUKINDS;
#endif
  hwloc_topology_set_flags(raw, flags);
  hwloc_topology_set_all_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_STRUCTURE);
  for (const hwloc_obj_type_t type : {HWLOC_OBJ_PACKAGE, HWLOC_OBJ_CORE})
    hwloc_topology_set_type_filter(raw, type, HWLOC_TYPE_FILTER_KEEP_ALL);
  // With the caches and kinds of 512 threads there are six times as many files to read.
  hwloc_topology_set_cache_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_type_filter(raw, HWLOC_OBJ_MISC, HWLOC_TYPE_FILTER_KEEP_NONE);
  hwloc_topology_set_io_types_filter(raw, HWLOC_TYPE_FILTER_KEEP_IMPORTANT);
  return topology;
}

// ---- places

// The package it is in, or those it spans.
Bits package_of(hwloc_topology_t topology, hwloc_obj_t object) {
  Bits packages;
  if (const hwloc_obj_t above = hwloc_get_ancestor_obj_by_type(topology, HWLOC_OBJ_PACKAGE, object)) {
    packages.add(above->logical_index);
    return packages;
  }
  if (object->type == HWLOC_OBJ_PACKAGE) {
    packages.add(object->logical_index);
    return packages;
  }
  for (hwloc_obj_t package = nullptr;
       (package = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_PACKAGE, package)) != nullptr;)
    if (object->nodeset != nullptr && package->nodeset != nullptr &&
        hwloc_bitmap_intersects(object->nodeset, package->nodeset) != 0)
      packages.add(package->logical_index);
  return packages;
}

Locality locality(hwloc_topology_t topology, hwloc_obj_t device) {
  Locality at;
  hwloc_obj_t above = device->parent;
  for (; above != nullptr && above->type == HWLOC_OBJ_BRIDGE; above = above->parent)
    at.bridges.push_back(above->logical_index);
  std::reverse(at.bridges.begin(), at.bridges.end());
  if (above == nullptr) return at;
  at.nodes = bits(above->nodeset);
  at.packages = package_of(topology, above);
  return at;
}

PciAddress address(hwloc_obj_t device) {
  const auto& pci = device->attr->pcidev;
  return {pci.domain, pci.bus, pci.dev, pci.func};
}

// ---- devices

PciIds ids_of(hwloc_obj_t device) {
  const auto& pci = device->attr->pcidev;
  return {pci.class_id, pci.vendor_id, pci.device_id};
}

void read_gpu(hwloc_topology_t topology, hwloc_obj_t device, Machine& machine) {
  const PciIds ids = ids_of(device);
  const bool is_nvidia = ids.vendor == kNvidia && (ids.type == 0x0302 || ids.type == 0x0300);
  const bool is_amd = ids.vendor == kAmd && (ids.is_display() || ids.is_processor());
  if (!is_nvidia && !is_amd) return;
  Gpu gpu;
  gpu.address = address(device);
  gpu.vendor = is_nvidia ? Vendor::nvidia : Vendor::amd;
  for (hwloc_obj_t child = device->io_first_child; child != nullptr; child = child->next_sibling)
    if (const auto uuid = info(child, "NVIDIAUUID"); !uuid.empty()) gpu.uuid = uuid;
  gpu.at = locality(topology, device);
  machine.gpus.push_back(std::move(gpu));
}

// "Port1State" is what the kernel calls it: 4 is active.
std::optional<Link> link_of_port(hwloc_obj_t verbs, unsigned port) {
  const std::string_view state = info(verbs, ("Port" + std::to_string(port) + "State").c_str());
  if (state.empty()) return std::nullopt;
  return state == "4" ? Link::up : Link::down;
}

hwloc_obj_t os_device(hwloc_obj_t device, hwloc_obj_osdev_type_t type) {
  hwloc_obj_t child = device->io_first_child;
  while (child != nullptr &&
         (child->type != HWLOC_OBJ_OS_DEVICE || child->name == nullptr || child->attr->osdev.type != type))
    child = child->next_sibling;
  return child;
}

// Each port that the verbs device tells of is a card.
void add_ports(const Nic& nic, hwloc_obj_t verbs, bool is_this_node, Machine& machine) {
  constexpr unsigned most_ports = 8;
  std::vector<Nic> ports;
  for (unsigned port = 1; port <= most_ports; ++port) {
    const auto link = link_of_port(verbs, port);
    if (!link && (port > 1 || link_of_port(verbs, 2))) continue;
    Nic& added = ports.emplace_back(nic);
    added.name = verbs->name + (":" + std::to_string(port));
    added.has_verbs = true;
    added.link = link.value_or(Link::unknown);
    if (is_this_node) added.rate = rate_of_port(verbs->name, port);
  }
  if (ports.size() == 1 && ports[0].name.ends_with(":1")) ports[0].name = verbs->name;
  machine.nics.insert(machine.nics.end(), ports.begin(), ports.end());
}

void read_nic(hwloc_topology_t topology, hwloc_obj_t device, bool is_this_node, Machine& machine) {
  const PciIds ids = ids_of(device);
  if (!ids.is_network()) return;
  const hwloc_obj_t verbs = os_device(device, HWLOC_OBJ_OSDEV_OPENFABRICS);
  const hwloc_obj_t interface = os_device(device, HWLOC_OBJ_OSDEV_NETWORK);
  Nic nic;
  nic.address = address(device);
  nic.network = ids.network(verbs != nullptr);
  nic.is_processing_unit = ids.is_processing_unit();
  nic.bus_rate = static_cast<std::uint32_t>(device->attr->pcidev.linkspeed * 8000);  // from GB/s
  if (is_this_node) nic.physical = physical_function(nic.address);
  nic.is_virtual_function = ids.is_virtual_function() || nic.physical;
  nic.at = locality(topology, device);
  if (verbs != nullptr) return add_ports(nic, verbs, is_this_node, machine);
  if (interface != nullptr) nic.name = interface->name;
  if (is_this_node) nic.link = link_of_interface(nic.name), nic.rate = rate_of_interface(nic.name);
  machine.nics.push_back(std::move(nic));
}

// ---- processors

// Of several kinds of memory beside the same processors hwloc has the ordinary one first.
std::uint32_t memory_node(hwloc_topology_t topology, hwloc_obj_t core) {
  for (hwloc_obj_t node = nullptr;
       (node = hwloc_get_next_obj_by_type(topology, HWLOC_OBJ_NUMANODE, node)) != nullptr;)
    if (hwloc_bitmap_intersects(node->cpuset, core->cpuset) != 0) return node->os_index;
  return 0;
}

void read_core(hwloc_topology_t topology, hwloc_obj_t object, Machine& machine) {
  Core core;
  core.pus = bits(object->cpuset);
  core.node = memory_node(topology, object);
  core.package = package_of(topology, object).only().value_or(0);
  if (!core.pus.empty()) machine.cores.push_back(std::move(core));
}

}  // namespace

namespace {

Machine read(hwloc_topology_t topology) {
  const bool is_this_node = hwloc_topology_is_thissystem(topology) != 0;
  Machine machine;
  machine.allowed = bits(hwloc_topology_get_allowed_cpuset(topology));
  // Some virtual machines show processors only.
  const auto kind = hwloc_get_nbobjs_by_type(topology, HWLOC_OBJ_CORE) > 0 ? HWLOC_OBJ_CORE : HWLOC_OBJ_PU;
  for (hwloc_obj_t core = nullptr; (core = hwloc_get_next_obj_by_type(topology, kind, core)) != nullptr;)
    read_core(topology, core, machine);
  for (hwloc_obj_t device = nullptr; (device = hwloc_get_next_pcidev(topology, device)) != nullptr;) {
    read_gpu(topology, device, machine);
    read_nic(topology, device, is_this_node, machine);
  }
  put_in_order(machine);
  return machine;
}

}  // namespace

Result<Machine> read_this_node() {
  const auto topology = start();
  if (!topology) return tl::unexpected(topology.error());
  if (hwloc_topology_load(topology->get()) != 0)
    return fail(ErrorKind::os, "hwloc cannot find out what this node has");
  return read(topology->get());
}

Result<Machine> parse_hwloc_xml(std::string_view text, const std::string& name) {
  const auto content = xml_for_hwloc(text, name);
  if (!content) return tl::unexpected(content.error());
  const auto topology = start();
  if (!topology) return tl::unexpected(topology.error());
  if (hwloc_topology_set_xmlbuffer(topology->get(), content->c_str(), static_cast<int>(content->size() + 1)) !=
          0 ||
      hwloc_topology_load(topology->get()) != 0)
    return fail(ErrorKind::corrupt, "hwloc cannot read '" + name + "'", "lstopo FILE.xml writes such a file");
  return read(topology->get());
}

Result<Machine> parse_synthetic(const std::string& description) {
  const auto topology = start();
  if (!topology) return tl::unexpected(topology.error());
  if (hwloc_topology_set_synthetic(topology->get(), description.c_str()) != 0 ||
      hwloc_topology_load(topology->get()) != 0)
    return fail(ErrorKind::invalid, "'" + description + "' is no synthetic topology of hwloc",
                "such as 'package:2 numa:2 core:8 pu:2', see hwloc(7)");
  return read(topology->get());
}

}  // namespace pinstep
