#include "launcher/exports/exports.h"

#include <algorithm>
#include <string_view>

#include "launcher/allowed/allowed.h"

namespace pinstep {
namespace {

using Variables = std::vector<std::pair<std::string, std::string>>;

class Exports {
 public:
  Exports(const NodeMap& map, std::uint32_t local_rank, const Environment& environment,
          const ExportRequest& request)
      : map_(map), rank_(map.ranks[local_rank]), environment_(environment), request_(request) {}

  Variables all() {
    devices();
    cards();
    network();
    processors();
    if (!request_.nccl_file.empty()) set("NCCL_TOPO_FILE", request_.nccl_file);
    return std::move(variables_);
  }

 private:
  void set(std::string_view name, std::string value) {
    if (!environment_.has(name)) variables_.emplace_back(name, std::move(value));
  }

  // ---- GPUs

  std::vector<std::uint32_t> visible_gpus() const {
    if (request_.visible == Visible::own || map_.isolated || rank_.gpus.empty()) return rank_.gpus;
    std::vector<std::uint32_t> all(map_.gpus.size());
    for (std::uint32_t i = 0; i < all.size(); ++i) all[i] = i;
    return all;
  }

  void devices() {
    if (map_.gpus.empty()) return;
    if (map_.gpus.front().vendor == Vendor::nvidia)
      nvidia_devices();
    else
      amd_devices();
  }

  void nvidia_devices() {
    constexpr std::string_view name = "CUDA_VISIBLE_DEVICES";
    constexpr std::string_view order_name = "CUDA_DEVICE_ORDER";
    constexpr std::string_view bus_order = "PCI_BUS_ID";
    if (environment_.has(name) && !is_slurms_choice(environment_, name)) return;
    const bool has_uuids =
        std::all_of(map_.gpus.begin(), map_.gpus.end(), [](const MappedGpu& gpu) { return !gpu.uuid.empty(); });
    const auto order = environment_.get(order_name);
    if (!has_uuids && order && *order != bus_order) return;  // then an index says nothing about a place
    variables_.emplace_back(name, device_list(has_uuids));
    if (!has_uuids) set(order_name, std::string(bus_order));
  }

  // ROCm counts in bus order. HIP counts anew among those, and takes CUDA's variable as its own.
  void amd_devices() {
    constexpr std::string_view name = "ROCR_VISIBLE_DEVICES";
    for (const std::string_view other : {"HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_DEVICE_ORDINAL"})
      if (environment_.has(other) && !is_slurms_choice(environment_, other)) return;
    if (environment_.has(name) && !is_slurms_choice(environment_, name)) return;
    variables_.emplace_back(name, device_list(false));
  }

  std::string device_list(bool by_uuid) const {
    std::string list;
    std::uint32_t count = 0;
    for (const std::uint32_t gpu : visible_gpus()) {
      if (!list.empty()) list += ',';
      // Of a rank that can open its own GPUs only, the driver counts those.
      const std::uint32_t index = map_.isolated ? count++ : map_.gpus[gpu].index;
      list += by_uuid ? map_.gpus[gpu].uuid : std::to_string(index);
    }
    return list;
  }

  // ---- network

  void cards() {
    if (map_.gpus.empty() || map_.nics.empty()) return;
    std::string all;
    for (const MappedNic& nic : map_.nics) {
      if (!nic.has_verbs) return;
      all += (all.empty() ? "=" : ",") + nic.name;
    }
    set("NCCL_IB_HCA", all);  // the same for all ranks of the node: NCCL merges what they say
    if (request_.program == Program::starts_them) return;
    std::vector<std::string> own;
    for (const std::uint32_t gpu : rank_.gpus)
      if (const std::string& nic = map_.gpus[gpu].nic;
          !nic.empty() && std::find(own.begin(), own.end(), nic) == own.end())
        own.push_back(nic);
    std::string list;
    for (const std::string& nic : own) list += (list.empty() ? "" : ",") + nic + ":1";
    if (!list.empty()) set("UCX_NET_DEVICES", list);
  }

  void network() {
    if (request_.interface.empty()) return;
    set("GLOO_SOCKET_IFNAME", request_.interface);
    // Where NCCL has sockets only it spreads over all interfaces: one name would leave it one.
    const bool spreads = map_.nics.size() > 1 && map_.nics.front().network == Network::ethernet;
    if (!map_.gpus.empty() && !spreads) set("NCCL_SOCKET_IFNAME", "=" + request_.interface);
  }

  // ---- processors

  void processors() {
    if (rank_.pus.empty() || request_.program == Program::starts_them) return;
    set("OMP_NUM_THREADS", std::to_string(rank_.cores));
    // Else MPI_Init (Open MPI to 4) and mpirun (from 5) bind the rank anew, counting cores by themselves.
    set("OMPI_MCA_hwloc_base_binding_policy", "none");
    set("PRTE_MCA_hwloc_default_binding_policy", "none");
  }

  const NodeMap& map_;
  const MappedRank& rank_;
  const Environment& environment_;
  const ExportRequest& request_;
  Variables variables_;
};

}  // namespace

Variables exported_variables(const NodeMap& map, std::uint32_t local_rank, const Environment& environment,
                             const ExportRequest& request) {
  if (local_rank >= map.ranks.size()) return {};
  return Exports(map, local_rank, environment, request).all();
}

}  // namespace pinstep
