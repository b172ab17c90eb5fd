#include "envtools/profile/cuda_driver.h"

#include <dlfcn.h>

#include <memory>
#include <utility>

namespace pinstep {
namespace {

// ---- the part of NVML's interface that is used, by its documentation

using Device = void*;
using Return = int;
constexpr Return kSuccess = 0;
constexpr Return kDriverNotLoaded = 9;

struct Close {
  void operator()(void* handle) const { ::dlclose(handle); }
};

class Nvml {
 public:
  explicit Nvml(const std::string& path) : handle_(::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL)) {
    if (!handle_) return;
    find("nvmlInit_v2", init);
    find("nvmlShutdown", shutdown);
    find("nvmlErrorString", error_string);
    find("nvmlSystemGetCudaDriverVersion_v2", cuda_version);
    find("nvmlDeviceGetCount_v2", count);
    find("nvmlDeviceGetHandleByIndex_v2", by_index);
    find("nvmlDeviceGetCudaComputeCapability", capability);
  }

  bool is_there() const { return handle_ != nullptr; }
  bool can_tell() const {
    return init != nullptr && shutdown != nullptr && error_string != nullptr && cuda_version != nullptr;
  }

  Return (*init)() = nullptr;
  Return (*shutdown)() = nullptr;
  const char* (*error_string)(Return) = nullptr;
  Return (*cuda_version)(int*) = nullptr;
  Return (*count)(unsigned*) = nullptr;
  Return (*by_index)(unsigned, Device*) = nullptr;
  Return (*capability)(Device, int* major, int* minor) = nullptr;

 private:
  template <class Function>
  void find(const char* name, Function& function) {
    function = reinterpret_cast<Function>(::dlsym(handle_.get(), name));
  }

  std::unique_ptr<void, Close> handle_;
};

std::string dotted(int major, int minor) { return std::to_string(major) + "." + std::to_string(minor); }

std::string lowest_capability(const Nvml& nvml) {
  unsigned count = 0;
  if (nvml.count == nullptr || nvml.by_index == nullptr || nvml.capability == nullptr) return {};
  if (nvml.count(&count) != kSuccess) return {};
  std::pair<int, int> lowest{};
  for (unsigned i = 0; i < count; ++i) {
    Device device = nullptr;
    std::pair<int, int> own{};
    if (nvml.by_index(i, &device) != kSuccess) continue;
    if (nvml.capability(device, &own.first, &own.second) != kSuccess) continue;
    if (lowest.first == 0 || own < lowest) lowest = own;
  }
  return lowest.first == 0 ? std::string() : dotted(lowest.first, lowest.second);
}

}  // namespace

Result<CudaDriver> read_cuda_driver(const std::string& library) {
  const Nvml nvml(library);
  if (!nvml.is_there()) return fail(ErrorKind::not_found, "there is no " + library);
  if (!nvml.can_tell()) return fail(ErrorKind::os, "'" + library + "' does not tell the version of CUDA");
  if (const Return code = nvml.init(); code == kDriverNotLoaded)
    return fail(ErrorKind::not_found, "NVIDIA's driver is not loaded");
  else if (code != kSuccess)
    return fail(ErrorKind::os, std::string("NVML cannot start: ") + nvml.error_string(code));
  int version = 0;  // 12040
  const Return code = nvml.cuda_version(&version);
  CudaDriver driver{dotted(version / 1000, version % 1000 / 10), lowest_capability(nvml)};
  nvml.shutdown();
  if (code != kSuccess)
    return fail(ErrorKind::os, std::string("NVML cannot tell the version of CUDA: ") + nvml.error_string(code));
  return driver;
}

}  // namespace pinstep
