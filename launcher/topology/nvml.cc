#include "launcher/topology/nvml.h"

#include <dlfcn.h>
#include <sys/auxv.h>

#include <algorithm>
#include <array>
#include <memory>

namespace pinstep {
namespace {

// ---- the part of NVML's interface that is used, by its documentation

using Device = void*;
using Return = int;
constexpr Return kSuccess = 0;
constexpr Return kNoPermission = 4;
constexpr Return kDriverNotLoaded = 9;

struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned device_and_vendor;
  unsigned subsystem;
  char bus_id[32];
};

struct C2cMode {
  unsigned is_enabled;
};

constexpr int kAffinityOfNode = 0;  // NVML_AFFINITY_SCOPE_NODE
constexpr unsigned kUuidBytes = 96;
constexpr unsigned kMostInstances = 64;  // the most that MIG knows is 7

class Library {
 public:
  static Result<Library> open(const std::string& path) {
    // A static program has no loader, and NVML belongs to another C library.
    if (::getauxval(AT_BASE) == 0) return fail(ErrorKind::not_found, "a static program cannot load NVML");
    Library library;
    library.handle_.reset(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL));
    if (!library.handle_) return fail(ErrorKind::not_found, "there is no " + path);
    library.find("nvmlInit_v2", library.init);
    library.find("nvmlShutdown", library.shutdown);
    library.find("nvmlErrorString", library.error_string);
    library.find("nvmlDeviceGetCount_v2", library.count);
    library.find("nvmlDeviceGetHandleByIndex_v2", library.by_index);
    library.find("nvmlDeviceGetPciInfo_v3", library.pci_info);
    library.find("nvmlDeviceGetUUID", library.uuid);
    if (!library.missing_.empty()) return fail(ErrorKind::os, "'" + path + "' has no " + library.missing_);
    library.find("nvmlDeviceGetMinorNumber", library.minor);
    library.find("nvmlDeviceGetMigMode", library.mig_mode);
    library.find("nvmlDeviceGetMaxMigDeviceCount", library.most_instances);
    library.find("nvmlDeviceGetMigDeviceHandleByIndex", library.instance);
    library.find("nvmlDeviceGetMemoryAffinity", library.memory_affinity);
    library.find("nvmlDeviceGetC2cModeInfoV", library.c2c_mode);
    return library;
  }

  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error_string)(Return) = nullptr;
  Return (*count)(unsigned*) = nullptr;
  Return (*by_index)(unsigned, Device*) = nullptr;
  Return (*pci_info)(Device, PciInfo*) = nullptr;
  Return (*uuid)(Device, char*, unsigned) = nullptr;
  // From here on older drivers, and GPUs without such a thing, do without.
  Return (*minor)(Device, unsigned*) = nullptr;
  Return (*mig_mode)(Device, unsigned* current, unsigned* pending) = nullptr;
  Return (*most_instances)(Device, unsigned*) = nullptr;
  Return (*instance)(Device, unsigned, Device*) = nullptr;
  Return (*memory_affinity)(Device, unsigned words, unsigned long*, int scope) = nullptr;
  Return (*c2c_mode)(Device, C2cMode*) = nullptr;

 private:
  struct Close {
    void operator()(void* handle) const { ::dlclose(handle); }
  };

  template <class Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(handle_.get(), name));
    if (function == nullptr && missing_.empty()) missing_ = name;
  }

  std::unique_ptr<void, Close> handle_;
  std::string missing_;
};

// An initialised NVML.
class Session {
 public:
  explicit Session(const Library& library) : library_(library) {}
  Session(const Session&) = delete;
  Session& operator=(const Session&) = delete;
  ~Session() { library_.shutdown(); }

  Result<std::vector<NvmlGpu>> gpus() const {
    unsigned count = 0;
    if (const Return code = library_.count(&count); code != kSuccess) return failed("count the GPUs", code);
    std::vector<NvmlGpu> gpus;
    for (unsigned i = 0; i < count; ++i) {
      Device device = nullptr;
      const Return code = library_.by_index(i, &device);
      if (code == kNoPermission) continue;
      if (code != kSuccess) return failed("reach GPU " + std::to_string(i), code);
      auto gpu = read(device, i);
      if (!gpu) return tl::unexpected(gpu.error());
      gpus.push_back(std::move(*gpu));
    }
    return gpus;
  }

 private:
  tl::unexpected<Error> failed(const std::string& what, Return code) const {
    return fail(ErrorKind::os, "NVML cannot " + what + ": " + library_.error_string(code));
  }

  Result<NvmlGpu> read(Device device, unsigned index) const {
    NvmlGpu gpu;
    PciInfo pci{};
    if (const Return code = library_.pci_info(device, &pci); code != kSuccess)
      return failed("tell where GPU " + std::to_string(index) + " is", code);
    gpu.address = {pci.domain, static_cast<std::uint8_t>(pci.bus), static_cast<std::uint8_t>(pci.device), 0};
    char text[kUuidBytes] = "";
    if (const Return code = library_.uuid(device, text, sizeof text); code != kSuccess)
      return failed("tell the UUID of GPU " + std::to_string(index), code);
    gpu.uuid = text;
    unsigned number = 0;
    if (library_.minor != nullptr && library_.minor(device, &number) == kSuccess) gpu.number = number;
    read_instances(device, gpu);
    read_memory(device, gpu);
    return gpu;
  }

  void read_instances(Device device, NvmlGpu& gpu) const {
    unsigned current = 0, pending = 0, most = 0;
    if (library_.mig_mode == nullptr || library_.mig_mode(device, &current, &pending) != kSuccess) return;
    gpu.is_divided = current == 1;
    if (!gpu.is_divided || library_.most_instances == nullptr || library_.instance == nullptr) return;
    if (library_.most_instances(device, &most) != kSuccess) return;
    for (unsigned i = 0; i < std::min(most, kMostInstances); ++i) {
      Device instance = nullptr;
      char text[kUuidBytes] = "";
      // Places without an instance are not found.
      if (library_.instance(device, i, &instance) == kSuccess &&
          library_.uuid(instance, text, sizeof text) == kSuccess)
        gpu.instances.emplace_back(text);
    }
  }

  void read_memory(Device device, NvmlGpu& gpu) const {
    constexpr unsigned bits = 8 * sizeof(unsigned long);
    std::array<unsigned long, 16> set{};
    C2cMode c2c{};
    gpu.has_c2c =
        library_.c2c_mode != nullptr && library_.c2c_mode(device, &c2c) == kSuccess && c2c.is_enabled != 0;
    if (library_.memory_affinity == nullptr ||
        library_.memory_affinity(device, set.size(), set.data(), kAffinityOfNode) != kSuccess)
      return;
    for (unsigned node = 0; node < set.size() * bits; ++node)
      if ((set[node / bits] >> (node % bits) & 1) != 0) gpu.memory_nodes.add(node);
  }

  const Library& library_;
};

}  // namespace

Result<std::vector<NvmlGpu>> read_nvml(const std::string& path) {
  const auto library = Library::open(path);
  if (!library) return tl::unexpected(library.error());
  const Return code = library->init();
  if (code == kDriverNotLoaded) return fail(ErrorKind::not_found, "NVIDIA's driver is not loaded");
  if (code != kSuccess)
    return fail(ErrorKind::os, std::string("NVML cannot start: ") + library->error_string(code));
  return Session(*library).gpus();
}

void add_nvml(const std::vector<NvmlGpu>& known, Machine& machine) {
  for (const NvmlGpu& told : known) {
    auto found = std::find_if(machine.gpus.begin(), machine.gpus.end(),
                              [&](const Gpu& gpu) { return gpu.address == told.address; });
    const std::string name = "GPU '" + told.address.text() + "'";
    if (found == machine.gpus.end()) {
      machine.doubts.push_back("NVML knows " + name + ", which is not on the PCI bus");
      Gpu gpu;
      gpu.address = told.address;
      found = machine.gpus.insert(machine.gpus.end(), std::move(gpu));
    }
    found->uuid = told.uuid;
    found->number = told.number;
    found->instances = told.instances;
    if (told.is_divided)
      machine.notes.push_back(name + " is divided into " + std::to_string(told.instances.size()) +
                              " MIG instances");
    if (told.memory_nodes.empty()) continue;
    const bool is_placed = found->at.nodes.count() == 1;
    if (told.has_c2c || !is_placed)
      found->linked = told.memory_nodes;
    else if (!told.memory_nodes.meets(found->at.nodes))
      machine.doubts.push_back(name + " is at memory node " + found->at.nodes.text() + ", but NVML says " +
                               told.memory_nodes.text());
  }
  put_in_order(machine);
}

}  // namespace pinstep
