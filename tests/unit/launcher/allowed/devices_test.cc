#include "launcher/allowed/devices.h"

#include <filesystem>

#include "tests/unit/support/files.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing_support::TemporaryDirectory;
using testing_support::write_file;

class Devices : public testing::Test {
 protected:
  std::string dev() const { return directory_.path() + "/dev"; }
  std::string sys() const { return directory_.path() + "/sys"; }
  Bits opens() const { return openable_gpus(dev(), sys()); }

  // A link that leads nowhere cannot be opened, by root neither.
  void make_device(const std::string& name, bool can_be_opened = true) {
    std::filesystem::create_directories(dev() + "/dri");
    if (can_be_opened)
      write_file(dev() + "/" + name, "");
    else
      std::filesystem::create_symlink("nowhere", dev() + "/" + name);
  }

  void make_amd(unsigned number, const std::string& address, bool can_be_opened,
                const char* vendor = "0x1002") {
    const std::string name = "renderD" + std::to_string(number);
    const std::string device = sys() + "/devices/" + address;
    std::filesystem::create_directories(device);
    write_file(device + "/vendor", std::string(vendor) + "\n");
    std::filesystem::create_directories(sys() + "/class/drm/" + name);
    std::filesystem::create_symlink("../../../devices/" + address, sys() + "/class/drm/" + name + "/device");
    make_device("dri/" + name, can_be_opened);
  }

 private:
  TemporaryDirectory directory_;
};

TEST_F(Devices, NoneOnANodeWithoutGpus) { EXPECT_EQ(opens(), Bits()); }

TEST_F(Devices, NvidiasThatOpen) {
  for (const auto* name : {"nvidia0", "nvidia10", "nvidiactl", "nvidia-uvm", "nvidia"}) make_device(name);
  make_device("nvidia3", false);
  EXPECT_EQ(opens(), (Bits{0, 10}));
}

TEST_F(Devices, AmdsAreCountedInBusOrder) {
  make_amd(129, "0000:03:00.0", true);
  make_amd(128, "0000:c1:00.0", false);
  make_amd(130, "0001:01:00.0", true);
  make_amd(131, "0000:01:00.0", true, "0x1a03");  // the service processor's display
  EXPECT_EQ(opens(), (Bits{0, 2}));
}

}  // namespace
}  // namespace pinstep
