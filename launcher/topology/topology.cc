#include "launcher/topology/topology.h"

#include <algorithm>

#include "envtools/base/fd.h"
#include "launcher/topology/correct.h"
#include "launcher/topology/hwloc_topology.h"
#include "launcher/topology/kernel_files.h"
#include "launcher/topology/nccl_topology.h"

namespace pinstep {
namespace {

constexpr std::size_t kMostBytes = 64 << 20;
constexpr std::string_view kSynthetic = "synthetic:";

Result<Machine> read_topology(const std::string& source) {
  if (source.empty()) return read_this_node();
  if (source.starts_with(kSynthetic)) return parse_synthetic(source.substr(kSynthetic.size()));
  const auto content = read_file(source, kMostBytes, Links::followed);
  if (!content) return tl::unexpected(content.error());
  if (!is_nccl_topology(content->text)) return parse_hwloc_xml(content->text, source);
  auto told = parse_nccl_topology(content->text, source);
  if (!told) return tl::unexpected(told.error());
  return std::move(told->machine);
}

Result<void> correct_by(const std::string& file, Machine& machine) {
  const auto content = read_file(file, kMostBytes, Links::followed);
  if (!content) return tl::unexpected(content.error());
  if (!is_nccl_topology(content->text))
    return fail(ErrorKind::corrupt, "'" + file + "' is no topology file of NCCL");
  const auto told = parse_nccl_topology(content->text, file);
  if (!told) return tl::unexpected(told.error());
  correct_places(*told, file, machine);
  return {};
}

Result<void> correct(const Sources& sources, Machine& machine) {
  if (!sources.nccl.empty()) return correct_by(sources.nccl, machine);
  if (!sources.topology.empty()) return {};
  const bool is_users = !sources.users_nccl.empty();
  const auto done = correct_by(is_users ? sources.users_nccl : sources.hypervisors_nccl, machine);
  if (!done && (is_users || done.error().kind != ErrorKind::not_found))
    machine.doubts.push_back((is_users ? "NCCL_TOPO_FILE: " : "") + done.error().cause);
  return {};
}

void add_driver(const std::string& proc, Machine& machine) {
  const auto known = nvidia_devices(proc);
  for (Gpu& gpu : machine.gpus)
    if (const auto found = known.find(gpu.address); found != known.end()) {
      gpu.uuid = found->second.uuid;
      gpu.number = found->second.number;
    }
}

void add_library(const Sources& sources, Machine& machine) {
  if (!sources.nvml && !sources.topology.empty()) return;
  const auto known = read_nvml(sources.nvml.value_or(kNvmlLibrary));
  if (known)
    add_nvml(*known, machine);
  else if (sources.nvml || known.error().kind != ErrorKind::not_found)
    machine.doubts.push_back(known.error().cause);
}

void doubt_places(Machine& machine) {
  Bits all;
  for (const Core& core : machine.cores) all.add(core.node);
  if (all.count() < 2) return;
  for (const Gpu& gpu : machine.gpus)
    if (gpu.home().empty() || all.is_within(gpu.home()))
      machine.doubts.push_back("nothing tells which memory node GPU '" + gpu.address.text() + "' is near");
}

}  // namespace

Result<Machine> read_machine(const Sources& sources) {
  auto machine = read_topology(sources.topology);
  if (!machine) return machine;
  if (const auto done = correct(sources, *machine); !done) return tl::unexpected(done.error());
  add_driver(sources.proc, *machine);
  add_library(sources, *machine);
  doubt_places(*machine);
  return machine;
}

}  // namespace pinstep
