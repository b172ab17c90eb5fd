// A libnvidia-ml.so.1 for tests: exactly the functions that launcher/topology/nvml.cc and
// envtools/profile/cuda_driver.cc look for, for a node
// with five GPUs, and each can be made to fail: NVML_STUB_FAIL="nvmlDeviceGetUUID:15" in the environment.
//
// With NVML_STUB_OLD it is that of an old driver, which knows nothing of MIG, memory and C2C.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

namespace {

constexpr int kSuccess = 0;
constexpr int kInvalid = 2;
[[maybe_unused]] constexpr int kNotSupported = 3;
constexpr int kNoPermission = 4;
[[maybe_unused]] constexpr int kNotFound = 6;

struct Gpu {
  unsigned bus;
  const char* uuid;
  unsigned minor;
  unsigned memory_node;
  bool has_c2c;
  bool is_divided;
};

// The first three are those of the topology psmgmt--topo.jwb0004.xml: the first where it says, the second
// elsewhere, the third with a link of its own. The fourth is nowhere there. The fifth is another job's.
Gpu gpus[] = {
    {0x03, "GPU-00000000-0000-0000-0000-000000000003", 2, 3, false, true},
    {0x44, "GPU-00000000-0000-0000-0000-000000000044", 0, 5, false, false},
    {0x84, "GPU-00000000-0000-0000-0000-000000000084", 1, 6, true, false},
    {0x99, "GPU-00000000-0000-0000-0000-000000000099", 3, 2, false, false},
    {0xc4, "GPU-00000000-0000-0000-0000-0000000000c4", 4, 5, false, false},
};
[[maybe_unused]] Gpu instances[] = {
    {0x03, "MIG-00000000-0000-0000-0000-000000000001", 0, 0, false, false},
    {0x03, "MIG-00000000-0000-0000-0000-000000000003", 0, 0, false, false},
};
constexpr unsigned kGpus = sizeof gpus / sizeof *gpus;

struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_and_vendor, subsystem;
  char bus_id[32];
};

// What the function is told to return instead, or success.
int told(const char* function) {
  const char* text = std::getenv("NVML_STUB_FAIL");
  if (text == nullptr) return kSuccess;
  const std::size_t length = std::strlen(function);
  return std::strncmp(text, function, length) == 0 && text[length] == ':' ? std::atoi(text + length + 1)
                                                                          : kSuccess;
}

const Gpu& of(void* device) { return *static_cast<const Gpu*>(device); }

}  // namespace

#define STUB(name) \
  if (const int code = told(#name); code != kSuccess) return code

#pragma GCC visibility push(default)
extern "C" {

int nvmlInit_v2() {
  STUB(nvmlInit_v2);
  return kSuccess;
}

int nvmlShutdown() { return kSuccess; }

const char* nvmlErrorString(int code) {
  static char text[32];
  std::snprintf(text, sizeof text, "error %d", code);
  return text;
}

int nvmlSystemGetCudaDriverVersion_v2(int* version) {
  STUB(nvmlSystemGetCudaDriverVersion_v2);
  *version = 12040;
  return kSuccess;
}

int nvmlDeviceGetCount_v2(unsigned* count) {
  STUB(nvmlDeviceGetCount_v2);
  *count = kGpus;
  return kSuccess;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, void** device) {
  STUB(nvmlDeviceGetHandleByIndex_v2);
  if (index >= kGpus) return kInvalid;
  if (index == kGpus - 1) return kNoPermission;
  *device = &gpus[index];
  return kSuccess;
}

int nvmlDeviceGetPciInfo_v3(void* device, PciInfo* info) {
  STUB(nvmlDeviceGetPciInfo_v3);
  *info = {};
  info->bus = of(device).bus;
  return kSuccess;
}

int nvmlDeviceGetUUID(void* device, char* text, unsigned size) {
  STUB(nvmlDeviceGetUUID);
  std::snprintf(text, size, "%s", of(device).uuid);
  return kSuccess;
}

#ifndef NVML_STUB_OLD

int nvmlDeviceGetCudaComputeCapability(void* device, int* major, int* minor) {
  STUB(nvmlDeviceGetCudaComputeCapability);
  *major = of(device).bus == 0x44 ? 8 : 9;
  *minor = 0;
  return kSuccess;
}

int nvmlDeviceGetMinorNumber(void* device, unsigned* number) {
  STUB(nvmlDeviceGetMinorNumber);
  *number = of(device).minor;
  return kSuccess;
}

int nvmlDeviceGetMigMode(void* device, unsigned* current, unsigned* pending) {
  STUB(nvmlDeviceGetMigMode);
  *current = *pending = of(device).is_divided ? 1 : 0;
  return kSuccess;
}

int nvmlDeviceGetMaxMigDeviceCount(void* device, unsigned* count) {
  STUB(nvmlDeviceGetMaxMigDeviceCount);
  *count = of(device).is_divided ? 7 : 0;
  return kSuccess;
}

int nvmlDeviceGetMigDeviceHandleByIndex(void* device, unsigned index, void** instance) {
  STUB(nvmlDeviceGetMigDeviceHandleByIndex);
  if (!of(device).is_divided) return kNotSupported;
  if (index != 1 && index != 3) return kNotFound;
  *instance = &instances[index / 2];
  return kSuccess;
}

int nvmlDeviceGetMemoryAffinity(void* device, unsigned words, unsigned long* set, int scope) {
  STUB(nvmlDeviceGetMemoryAffinity);
  if (words == 0 || scope != 0) return kInvalid;
  std::fill(set, set + words, 0UL);
  set[0] = 1UL << of(device).memory_node;
  return kSuccess;
}

int nvmlDeviceGetC2cModeInfoV(void* device, unsigned* is_enabled) {
  STUB(nvmlDeviceGetC2cModeInfoV);
  *is_enabled = of(device).has_c2c ? 1 : 0;
  return kSuccess;
}

#endif

}  // extern "C"
#pragma GCC visibility pop
