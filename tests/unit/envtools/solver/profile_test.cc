#include "envtools/solver/profile.h"

#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing_support::FailsWith;
using testing_support::Holds;

constexpr const char* kHow = "write __NAME=VERSION or __NAME=VERSION=BUILD, such as __cuda=12.4";

TEST(VirtualPackages, AreNameVersionAndBuild) {
  const struct {
    const char* text;
    VirtualPackage package;
  } cases[] = {{"__glibc=2.28", {"__glibc", "2.28", ""}},
               {"__archspec=1=x86_64_v3", {"__archspec", "1", "x86_64_v3"}},
               {"__cuda_arch=9.0", {"__cuda_arch", "9.0", ""}}};
  for (const auto& c : cases) {
    EXPECT_THAT(parse_virtual_package(c.text), Holds(c.package)) << c.text;
    EXPECT_EQ(to_string(c.package), c.text);
  }
}

TEST(VirtualPackages, ThatAreNoneAreRefused) {
  for (const std::string text :
       {"", "glibc=2.28", "__glibc", "__glibc=", "__glibc=2.28=", "__a=1=b=c", "__a b=1", "__a=>=1", "__a=1 2"})
    EXPECT_THAT(parse_virtual_package(text),
                FailsWith(ErrorKind::invalid, "'" + text + "' is no virtual package", kHow));
}

TEST(Profile, IsALineEach) {
  EXPECT_THAT(parse_profile("# nodes\n\n__cuda=12.4  # driver 550\n  __glibc=2.36\r\n", "p"),
              Holds(ElementsAre(VirtualPackage{"__cuda", "12.4", ""}, VirtualPackage{"__glibc", "2.36", ""})));
  EXPECT_THAT(parse_profile("", "p"), Holds(testing::IsEmpty()));
}

TEST(Profile, MistakesAreLocated) {
  EXPECT_THAT(parse_profile("__a=1\nb\n", "p"),
              FailsWith(ErrorKind::invalid, "p:2: 'b' is no virtual package", kHow));
  EXPECT_THAT(parse_profile("__a=1\n\n__a=2\n", "p"),
              FailsWith(ErrorKind::invalid, "p:3: '__a' is there twice"));
}

TEST(Profile, OverlayReplacesByName) {
  const auto profile = overlay(baseline_profile("linux-64"), {{"__glibc", "2.36", ""}, {"__cuda", "12", ""}});
  EXPECT_EQ(format_profile(profile), "__archspec=1=x86_64 __cuda=12 __glibc=2.36 __linux=4.18 __unix=0");
}

TEST(Profile, TheBaselineHasNoGpu) {
  EXPECT_EQ(format_profile(baseline_profile("linux-64")),
            "__archspec=1=x86_64 __glibc=2.28 __linux=4.18 __unix=0");
  EXPECT_EQ(format_profile(baseline_profile("linux-aarch64")),
            "__archspec=1=aarch64 __glibc=2.28 __linux=4.18 __unix=0");
  EXPECT_EQ(format_profile(baseline_profile("osx-64")), "");
}

TEST(Profile, WhateverTheTextParsingEnds) {
  testing_support::Random random;
  for (int i = 0; i < 2000; ++i) {
    const std::string text = random.text("__a=1.\n# \\x", 0, 40);
    const auto profile = parse_profile(text, "p");
    if (!profile) continue;
    for (const VirtualPackage& package : *profile)
      EXPECT_THAT(parse_virtual_package(to_string(package)), Holds(package))
          << random << testing_support::shown(text);
  }
}

}  // namespace
}  // namespace pinstep
