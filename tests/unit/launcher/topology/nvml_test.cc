#include "launcher/topology/nvml.h"

#include <cstdlib>

#include "envtools/base/process.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// The stand-ins of tests/nvml, beside this program.
std::string stub() { return own_program_directory() + "/libnvml-stub.so"; }
std::string old_stub() { return own_program_directory() + "/libnvml-stub-old.so"; }

struct Failing {
  explicit Failing(const std::string& what) { ::setenv("NVML_STUB_FAIL", what.c_str(), 1); }
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;
  ~Failing() { ::unsetenv("NVML_STUB_FAIL"); }
};

TEST(Nvml, TellsOfTheGpusThatCanBeReached) {
  const auto gpus = read_nvml(stub());
  ASSERT_TRUE(gpus) << gpus.error().cause;
  ASSERT_EQ(gpus->size(), 4U);  // the fifth is forbidden
  const NvmlGpu& first = (*gpus)[0];
  EXPECT_EQ(first.address.text(), "0000:03:00.0");
  EXPECT_EQ(first.uuid, "GPU-00000000-0000-0000-0000-000000000003");
  EXPECT_EQ(first.number, 2U);
  EXPECT_TRUE(first.is_divided);
  EXPECT_THAT(first.instances, ElementsAre("MIG-00000000-0000-0000-0000-000000000001",
                                           "MIG-00000000-0000-0000-0000-000000000003"));
  EXPECT_EQ(first.memory_nodes.text(), "3");
  EXPECT_FALSE(first.has_c2c);
  EXPECT_TRUE((*gpus)[2].has_c2c);
  EXPECT_FALSE((*gpus)[2].is_divided);
}

TEST(Nvml, OfAnOldDriverTellsLess) {
  const auto gpus = read_nvml(old_stub());
  ASSERT_TRUE(gpus) << gpus.error().cause;
  ASSERT_EQ(gpus->size(), 4U);
  for (const NvmlGpu& gpu : *gpus) {
    EXPECT_FALSE(gpu.uuid.empty());
    EXPECT_FALSE(gpu.number || gpu.is_divided || gpu.has_c2c || !gpu.memory_nodes.empty());
  }
}

TEST(Nvml, IsNotThere) {
  for (const std::string library : {"/nonexistent.so", "/proc/self/status"}) {
    const auto gpus = read_nvml(library);
    ASSERT_FALSE(gpus);
    EXPECT_EQ(gpus.error().kind, ErrorKind::not_found);
  }
  const auto other = read_nvml("libm.so.6");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().kind, ErrorKind::os);
  EXPECT_EQ(other.error().cause, "'libm.so.6' has no nvmlInit_v2");
}

TEST(Nvml, SaysWhatItCouldNotFindOut) {
  const struct {
    const char* failing;
    ErrorKind kind;
    const char* cause;
  } cases[] = {
      {"nvmlInit_v2:9", ErrorKind::not_found, "NVIDIA's driver is not loaded"},
      {"nvmlInit_v2:999", ErrorKind::os, "NVML cannot start: error 999"},
      {"nvmlDeviceGetCount_v2:15", ErrorKind::os, "NVML cannot count the GPUs: error 15"},
      {"nvmlDeviceGetHandleByIndex_v2:15", ErrorKind::os, "NVML cannot reach GPU 0: error 15"},
      {"nvmlDeviceGetPciInfo_v3:15", ErrorKind::os, "NVML cannot tell where GPU 0 is: error 15"},
      {"nvmlDeviceGetUUID:15", ErrorKind::os, "NVML cannot tell the UUID of GPU 0: error 15"},
  };
  for (const auto& [failing, kind, cause] : cases) {
    const Failing function(failing);
    const auto gpus = read_nvml(stub());
    ASSERT_FALSE(gpus) << failing;
    EXPECT_EQ(gpus.error().kind, kind) << failing;
    EXPECT_EQ(gpus.error().cause, cause);
  }
}

TEST(Nvml, DoesWithoutWhatNotAllGpusHave) {
  for (const std::string function :
       {"nvmlDeviceGetMinorNumber", "nvmlDeviceGetMigMode", "nvmlDeviceGetMaxMigDeviceCount",
        "nvmlDeviceGetMigDeviceHandleByIndex", "nvmlDeviceGetMemoryAffinity", "nvmlDeviceGetC2cModeInfoV"}) {
    const Failing failing(function + ":3");
    const auto gpus = read_nvml(stub());
    ASSERT_TRUE(gpus) << function;
    ASSERT_EQ(gpus->size(), 4U);
    EXPECT_EQ((*gpus)[0].number.has_value(), function != "nvmlDeviceGetMinorNumber");
    EXPECT_EQ((*gpus)[0].is_divided, function != "nvmlDeviceGetMigMode");
    EXPECT_EQ((*gpus)[0].instances.empty(), function.find("Mig") != std::string::npos) << function;
    EXPECT_EQ((*gpus)[0].memory_nodes.empty(), function == "nvmlDeviceGetMemoryAffinity");
    EXPECT_EQ((*gpus)[2].has_c2c, function != "nvmlDeviceGetC2cModeInfoV");
  }
}

Machine two_nodes() {
  Machine machine;
  for (const std::uint32_t pu : {0U, 1U}) machine.cores.push_back({{pu}, pu, 0});
  for (const std::uint8_t bus : {0x10, 0x20, 0x30}) {
    Gpu gpu;
    gpu.address.bus = bus;
    gpu.at.nodes = bus == 0x30 ? Bits{0, 1} : Bits{0};
    machine.gpus.push_back(std::move(gpu));
  }
  return machine;
}

NvmlGpu known(std::uint8_t bus, Bits memory_nodes, bool has_c2c = false) {
  NvmlGpu gpu;
  gpu.address.bus = bus;
  gpu.uuid = "GPU-" + std::to_string(bus);
  gpu.memory_nodes = std::move(memory_nodes);
  gpu.has_c2c = has_c2c;
  return gpu;
}

TEST(AddNvml, TheBusIsRightWhereBothTellMemoryNodes) {
  Machine machine = two_nodes();
  add_nvml({known(0x10, {1})}, machine);
  EXPECT_EQ(machine.gpus[0].uuid, "GPU-16");
  EXPECT_EQ(machine.gpus[0].home(), Bits{0});
  EXPECT_THAT(machine.doubts, ElementsAre("GPU '0000:10:00.0' is at memory node 0, but NVML says 1"));
}

TEST(AddNvml, NvmlIsRightForC2cAndWhereTheBusDoesNotTell) {
  Machine machine = two_nodes();
  add_nvml({known(0x10, {0}), known(0x20, {1}, true), known(0x30, {1})}, machine);
  EXPECT_THAT(machine.doubts, IsEmpty());
  EXPECT_EQ(machine.gpus[0].home(), Bits{0});
  EXPECT_EQ(machine.gpus[1].home(), Bits{1});
  EXPECT_EQ(machine.gpus[2].home(), Bits{1});
  EXPECT_EQ(machine.gpus[1].at.nodes, Bits{0});  // cards are as far as the bus says
}

TEST(AddNvml, AGpuThatIsNotOnTheBusIsAddedAndDoubted) {
  Machine machine = two_nodes();
  add_nvml({known(0x15, {1})}, machine);
  ASSERT_EQ(machine.gpus.size(), 4U);
  EXPECT_EQ(machine.gpus[1].uuid, "GPU-21");
  EXPECT_EQ(machine.gpus[1].home(), Bits{1});
  EXPECT_THAT(machine.doubts, ElementsAre("NVML knows GPU '0000:15:00.0', which is not on the PCI bus"));
}

TEST(AddNvml, InstancesAreNoted) {
  Machine machine = two_nodes();
  NvmlGpu divided = known(0x10, {});
  divided.is_divided = true;
  divided.instances = {"MIG-1", "MIG-2"};
  add_nvml({divided}, machine);
  EXPECT_THAT(machine.gpus[0].instances, ElementsAre("MIG-1", "MIG-2"));
  EXPECT_THAT(machine.notes, ElementsAre("GPU '0000:10:00.0' is divided into 2 MIG instances"));
}

}  // namespace
}  // namespace pinstep
