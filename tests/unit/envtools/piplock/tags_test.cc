#include "envtools/piplock/tags.h"

#include <gtest/gtest.h>

namespace pinstep {
namespace {

TEST(WheelTags, TakeWhatThePythonTakes) {
  const auto tags = WheelTags::of({"3.12.4", "x86_64", "2.28"});
  ASSERT_TRUE(tags);
  for (const char* name :
       {"a-1-py3-none-any.whl", "a-1-py2.py3-none-any.whl", "a-1-py37-none-any.whl", "a-1-py312-none-any.whl",
        "a-1-cp312-cp312-manylinux_2_17_x86_64.manylinux2014_x86_64.whl",
        "a-1-cp312-cp312-manylinux_2_28_x86_64.whl", "a-1-cp312-cp312-linux_x86_64.whl",
        "a-1-cp38-abi3-manylinux1_x86_64.whl", "a-1-1build-py3-none-any.whl",
        "a-1-py3-none-manylinux2010_x86_64.whl", "a-1-cp312-none-any.whl"})
    EXPECT_TRUE(tags->rank(name)) << name;
  for (const char* name :
       {"a-1-cp311-cp311-manylinux_2_17_x86_64.whl", "a-1-cp312-cp312-manylinux_2_29_x86_64.whl",
        "a-1-cp312-cp312-musllinux_1_1_x86_64.whl", "a-1-cp312-cp312-macosx_11_0_arm64.whl",
        "a-1-cp313-abi3-manylinux1_x86_64.whl", "a-1-cp312-cp312-manylinux_2_17_aarch64.whl",
        "a-1-py2-none-any.whl", "a-1-pp310-pypy310_pp73-manylinux_2_17_x86_64.whl",
        "a-1-cp312-cp312t-manylinux_2_17_x86_64.whl", "a-1.tar.gz", "a.whl", "", "a-1-2-3-py3-none-any.whl"})
    EXPECT_FALSE(tags->rank(name)) << name;
}

// The order of pip: the closest to the machine first.
TEST(WheelTags, PreferTheClosest) {
  const auto tags = WheelTags::of({"3.12.4", "aarch64", "2.28"});
  ASSERT_TRUE(tags);
  const char* names[] = {"a-1-cp312-cp312-manylinux_2_28_aarch64.whl",
                         "a-1-cp312-cp312-manylinux_2_17_aarch64.whl",
                         "a-1-cp312-abi3-manylinux_2_17_aarch64.whl",
                         "a-1-cp310-abi3-manylinux_2_17_aarch64.whl",
                         "a-1-py3-none-manylinux_2_17_aarch64.whl",
                         "a-1-cp312-none-any.whl",
                         "a-1-py3-none-any.whl",
                         "a-1-py37-none-any.whl"};
  for (std::size_t i = 0; i + 1 < std::size(names); ++i)
    EXPECT_LT(tags->rank(names[i]).value(), tags->rank(names[i + 1]).value()) << names[i];
}

TEST(WheelTags, AreOfPython3AndGlibc2) {
  EXPECT_FALSE(WheelTags::of({"2.7.18", "x86_64", "2.28"}));
  EXPECT_FALSE(WheelTags::of({"3", "x86_64", "2.28"}));
  EXPECT_FALSE(WheelTags::of({"3.12", "x86_64", ""}));
  EXPECT_FALSE(WheelTags::of({"3.99999999", "x86_64", "2.28"}));
}

}  // namespace
}  // namespace pinstep
