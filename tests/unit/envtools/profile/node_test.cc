#include "envtools/profile/node.h"

#include <cstdlib>

#include "envtools/base/process.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing_support::FailsWith;
using testing_support::Holds;

// The stand-in of tests/nvml, beside this program.
std::string stub() { return own_program_directory() + "/libnvml-stub.so"; }
std::string old_stub() { return own_program_directory() + "/libnvml-stub-old.so"; }

struct Failing {
  explicit Failing(const std::string& what) { ::setenv("NVML_STUB_FAIL", what.c_str(), 1); }
  Failing(const Failing&) = delete;
  Failing& operator=(const Failing&) = delete;
  ~Failing() { ::unsetenv("NVML_STUB_FAIL"); }
};

TEST(CudaDriver, TellsItsCudaAndTheLowestOfItsGpus) {
  EXPECT_THAT(read_cuda_driver(stub()), Holds(CudaDriver{"12.4", "8.0"}));
  EXPECT_THAT(read_cuda_driver(old_stub()), Holds(CudaDriver{"12.4", ""}));
}

TEST(CudaDriver, ThatIsNotThereIsOneThingAndThatFailsAnother) {
  EXPECT_THAT(read_cuda_driver("libabsent.so.1"),
              FailsWith(ErrorKind::not_found, "there is no libabsent.so.1"));
  {
    const Failing not_loaded("nvmlInit_v2:9");
    EXPECT_THAT(read_cuda_driver(stub()), FailsWith(ErrorKind::not_found, "NVIDIA's driver is not loaded"));
  }
  {
    const Failing mismatch("nvmlInit_v2:18");
    EXPECT_THAT(read_cuda_driver(stub()), FailsWith(ErrorKind::os, "NVML cannot start: error 18"));
    EXPECT_FALSE(read_node(stub()));
  }
  {
    const Failing version("nvmlSystemGetCudaDriverVersion_v2:999");
    EXPECT_THAT(read_cuda_driver(stub()),
                FailsWith(ErrorKind::os, "NVML cannot tell the version of CUDA: error 999"));
  }
  const Failing capability("nvmlDeviceGetCudaComputeCapability:3");
  EXPECT_THAT(read_cuda_driver(stub()), Holds(CudaDriver{"12.4", ""}));
}

TEST(Node, IsRead) {
  const auto node = read_node(stub());
  ASSERT_TRUE(node) << node.error().cause;
  EXPECT_NE(node->host, "");
  EXPECT_EQ(node->glibc.substr(0, 2), "2.");
  EXPECT_EQ(node->driver->cuda, "12.4");
  EXPECT_FALSE(read_node("libabsent.so.1")->driver);
}

const std::string kSecond = "cx16 lahf_lm pni popcnt sse4_1 sse4_2 ssse3";
const std::string kThird = kSecond + " avx avx2 bmi1 bmi2 f16c fma abm movbe xsave";
const std::string kFourth = kThird + " avx512f avx512bw avx512cd avx512dq avx512vl";

TEST(Microarchitecture, IsThePsabisLevel) {
  const auto level = [](const std::string& flags) {
    return microarchitecture(
        "x86_64", "processor\t: 0\nmodel name\t: X\nflags\t\t: fpu " + flags + " ht\nbogomips : 1\n");
  };
  EXPECT_EQ(level(""), "x86_64");
  EXPECT_EQ(level(kSecond), "x86_64_v2");
  EXPECT_EQ(level(kThird), "x86_64_v3");
  EXPECT_EQ(level(kFourth), "x86_64_v4");
  EXPECT_EQ(level("avx512f avx512bw avx512cd avx512dq avx512vl"), "x86_64");
  EXPECT_EQ(microarchitecture("x86_64", ""), "x86_64");
  EXPECT_EQ(microarchitecture("aarch64", "Features : fp asimd\n"), "aarch64");
}

TEST(Microarchitecture, NeedsEveryInstruction) {
  for (const std::string& flags : {kSecond, kThird, kFourth}) {
    const std::string whole = microarchitecture("x86_64", "flags : " + flags);
    for (std::size_t at = flags.rfind(' '), end = flags.size(); at != std::string::npos;
         at = flags.rfind(' ', at - 1)) {
      const std::string without = flags.substr(0, at) + flags.substr(end);
      EXPECT_LT(microarchitecture("x86_64", "flags : " + without), whole) << without;
      end = at;
    }
  }
}

NodeFacts a_node() { return {"n1", "x86_64", "5.14.0-503.el9.x86_64", "2.34", "flags : " + kThird, {}}; }

TEST(ProfileOfANode, IsItsVirtualPackages) {
  NodeFacts node = a_node();
  const auto text = [&] { return format_profile(profile_of(node).packages("linux-64")); };
  EXPECT_EQ(text(), "__archspec=1=x86_64_v3 __glibc=2.34 __linux=5.14.0 __unix=0");
  node.driver = CudaDriver{"12.4", ""};
  EXPECT_EQ(text(), "__archspec=1=x86_64_v3 __cuda=12.4 __glibc=2.34 __linux=5.14.0 __unix=0");
  node.driver = CudaDriver{"12.4", "9.0"};
  node.kernel = "6.1";
  EXPECT_EQ(text(), "__archspec=1=x86_64_v3 __cuda=12.4 __cuda_arch=9.0 __glibc=2.34 __linux=6.1 __unix=0");
  node.kernel = "6.12.+deb";
  EXPECT_EQ(profile_of(node).packages("linux-64")[4], (VirtualPackage{"__linux", "6.12", ""}));
  node.machine = "aarch64";
  EXPECT_EQ(profile_of(node).packages("linux-aarch64")[0], (VirtualPackage{"__archspec", "1", "aarch64"}));
}

LockedPackage wants(const std::string& name, const std::map<std::string, std::string>& dependencies) {
  LockedPackage package;
  package.name = name;
  package.dependencies = dependencies;
  return package;
}

TEST(Shortcomings, AreWhatPackagesAskForInVain) {
  const VirtualPackages node{{"__archspec", "1", "x86_64_v3"},
                             {"__cuda", "11.8", ""},
                             {"__glibc", "2.34", ""},
                             {"__linux", "5.14.0", ""}};
  const struct {
    std::map<std::string, std::string> dependencies;
    const char* clause;  // nullptr: none
  } cases[] = {
      {{{"python", ">=3.12"}}, nullptr},
      {{{"__cuda", ">=11"}, {"__glibc", ">=2.17,<3.0.a0"}}, nullptr},
      {{{"__cuda", ""}}, nullptr},
      {{{"__cuda", ">=12"}}, "x needs __cuda >=12, and there is 11.8"},
      {{{"__cuda", ">=11,<11.8"}}, "x needs __cuda >=11,<11.8, and there is 11.8"},
      {{{"__glibc", ">=2.35"}}, "x needs __glibc >=2.35, and there is 2.34"},
      {{{"__linux", ">=5.14"}}, nullptr},
      {{{"__osx", ">=11"}}, "x needs __osx >=11, and there is none"},
      {{{"__win", ""}}, "x needs __win, and there is none"},
      {{{"__archspec", "1 x86_64_v3"}}, nullptr},
      {{{"__archspec", "1 x86_64_v2"}}, nullptr},
      {{{"__archspec", "1 x86_64"}}, nullptr},
      {{{"__archspec", "1 x86_64_v4"}}, "x needs __archspec 1 x86_64_v4, and there is x86_64_v3"},
      {{{"__archspec", "1 zen4"}}, nullptr},
  };
  for (const auto& c : cases) {
    const auto clauses = shortcomings({wants("x", c.dependencies)}, node);
    const std::vector<std::string> expected(c.clause == nullptr ? 0 : 1, c.clause == nullptr ? "" : c.clause);
    EXPECT_EQ(clauses, expected);
  }
}

TEST(Shortcomings, AreToldOnceForEachVirtualPackage) {
  EXPECT_THAT(
      shortcomings({wants("a", {{"__cuda", ">=12"}}), wants("b", {{"__cuda", ">=12"}, {"__glibc", ">=3"}})},
                   {{"__glibc", "2.34", ""}}),
      ElementsAre("a needs __cuda >=12, and there is none", "b needs __glibc >=3, and there is 2.34"));
}

}  // namespace
}  // namespace pinstep
