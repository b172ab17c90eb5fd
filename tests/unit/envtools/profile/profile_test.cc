#include "envtools/profile/profile.h"

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

constexpr const char* kShape = "a profile is subdirs: {linux-64: {packages: {__cuda: '12.4'}}}";

TEST(Profile, IsALineEach) {
  const auto profile = parse_profile("# nodes\n\n__cuda=12.4  # driver 550\n  __glibc=2.36\r\n", "p");
  ASSERT_TRUE(profile);
  EXPECT_THAT(profile->everywhere,
              ElementsAre(VirtualPackage{"__cuda", "12.4", ""}, VirtualPackage{"__glibc", "2.36", ""}));
  EXPECT_THAT(profile->platforms, testing::IsEmpty());
  EXPECT_TRUE(profile->covers("linux-64"));
  EXPECT_THAT(parse_profile("", "p"), Holds(Profile{}));
}

TEST(Profile, IsCondaLocksFile) {
  const auto profile = parse_profile(
      "# gpu\nsubdirs:\n  linux-64:\n    packages:\n      __cuda: 12.10\n      __archspec: 1 x86_64_v3\n"
      "  linux-aarch64: {packages: {}}\n  osx-64:\n    packages:\nother: 1\n",
      "p");
  ASSERT_TRUE(profile) << profile.error().cause;
  EXPECT_EQ(format_profile(profile->packages("linux-64")), "__archspec=1=x86_64_v3 __cuda=12.10");
  EXPECT_THAT(profile->packages("linux-aarch64"), testing::IsEmpty());
  EXPECT_TRUE(profile->covers("osx-64"));
  EXPECT_FALSE(profile->covers("linux-ppc64le"));
  EXPECT_THAT(parse_profile(write_profile(*profile, "a\nb"), "p"), Holds(*profile));
}

TEST(Profile, MistakesAreLocated) {
  EXPECT_THAT(parse_profile("__a=1\nb\n", "p"),
              FailsWith(ErrorKind::invalid, "p:2: 'b' is no virtual package", kHow));
  EXPECT_THAT(parse_profile("__a=1\n\n__a=2\n", "p"),
              FailsWith(ErrorKind::invalid, "p:3: '__a' is there twice"));
  const std::pair<const char*, const char*> cases[] = {
      {"a: 1\n", "p:1: this is no profile: it has no platforms below 'subdirs'"},
      {"subdirs: [linux-64]\n", "p:1: this is no profile: it has no platforms below 'subdirs'"},
      {"subdirs:\n  linux-64: {}\n", "p:2: 'linux-64' has no packages"},
      {"subdirs:\n  linux-64:\n    packages: [a]\n", "p:3: 'packages' is not made of lines '__NAME: version'"},
      {"subdirs:\n  linux-64:\n    packages:\n      cuda: 1\n", "p:4: 'cuda': '1' is no virtual package"},
      {"subdirs:\n  linux-64:\n    packages:\n      __cuda:\n", "p:4: '__cuda' has no version"},
      {"subdirs:\n  linux-64:\n    packages:\n      __cuda: a b c\n",
       "p:4: '__cuda': 'a b c' is no virtual package"},
  };
  for (const auto& [text, cause] : cases)
    EXPECT_THAT(parse_profile(text, "p"), FailsWith(ErrorKind::invalid, cause, kShape)) << text;
  const auto unknown = parse_profile("subdirs:\n  linux-65: {packages: {}}\n", "p");
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().cause, "p:2: 'linux-65' is no platform of conda");
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
    const std::string text =
        i % 2 == 0 ? random.text("__a=1.\n# \\x", 0, 40)
                   : "subdirs: {linux-64: {packages: {" + random.text("_a1.: ,'\"#\\", 0, 30) + "}}}";
    const auto profile = parse_profile(text, "p");
    if (!profile) continue;
    for (const VirtualPackage& package : profile->packages("linux-64"))
      EXPECT_THAT(parse_virtual_package(to_string(package)), Holds(package))
          << random << testing_support::shown(text);
    if (profile->platforms.empty()) continue;
    EXPECT_THAT(parse_profile(write_profile(*profile, ""), "p"), Holds(*profile))
        << testing_support::shown(text);
  }
}

}  // namespace
}  // namespace pinstep
