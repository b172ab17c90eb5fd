#include "envtools/spec/version_range.h"

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

TEST(VersionRange, TakesWhatCondaTakes) {
  const struct {
    const char* range;
    std::vector<const char*> inside, outside;
  } cases[] = {
      {"", {"1", "0a1"}, {}},
      {"*", {"1", "0a1"}, {}},
      {"1.8", {"1.8", "1.8.0"}, {"1.8.1", "1.80", "1.7"}},
      {"==1.8", {"1.8", "1.8.0"}, {"1.8.1"}},
      {"=1.8", {"1.8", "1.8.3", "1.8rc1"}, {"1.80", "1.9", "2.8"}},
      {"1.8.*", {"1.8", "1.8.3"}, {"1.80", "1.9"}},
      {"1.8*", {"1.8", "1.8.3"}, {"1.80", "1.9"}},
      {"=1", {"1.8", "1"}, {"10", "2"}},
      {"!=1.8", {"1.8.1", "2"}, {"1.8", "1.8.0"}},
      {"!=1.8.*", {"1.9"}, {"1.8", "1.8.1"}},
      {">=1.8,<2", {"1.8", "1.99"}, {"1.7", "2", "2.1"}},
      {">=1.8,<2.0a0", {"1.8", "1.99"}, {"2.0a0", "2.0rc1", "2"}},
      {">1.8", {"1.8.1", "1.8.post1"}, {"1.8", "1.8a1"}},
      {"<=1.8", {"1.8", "1.8a1"}, {"1.8.1"}},
      {"~=1.4.2", {"1.4.2", "1.4.9"}, {"1.4.1", "1.5"}},
      {"~=1.4", {"1.4", "1.9"}, {"1.3", "2.0"}},
      {"<1|>=3,<4", {"0.9", "3.5"}, {"1", "2", "4"}},
      {" >= 1.8 , < 2 ", {"1.8"}, {"2"}},
      {">=11,<12.0a0", {"11.8"}, {"12.4"}},
      {"1!2", {"1!2"}, {"2"}},
  };
  for (const auto& c : cases) {
    for (const char* version : c.inside)
      EXPECT_TRUE(version_fits(c.range, version)) << c.range << " " << version;
    for (const char* version : c.outside)
      EXPECT_FALSE(version_fits(c.range, version)) << c.range << " " << version;
  }
}

TEST(VersionRange, WhatIsNoneTakesAny) {
  for (const char* range : {"^1.*$", "(>=1)", ">=", "1.*.3", "a b"})
    EXPECT_TRUE(version_fits(range, "7")) << range;
}

}  // namespace
}  // namespace pinstep
