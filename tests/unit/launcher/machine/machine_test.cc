#include "launcher/machine/machine.h"

#include <algorithm>

#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing_support::Random;

TEST(Level, IsThatOfTheLowestCommonAncestor) {
  const Locality gpu{{1, 2, 3, 4}, {0}, {0}};
  const struct {
    const char* what;
    Locality nic;
    Level level;
  } cases[] = {
      {"the next port of the same switch", {{1, 2, 3, 5}, {0}, {0}}, Level::pix},
      {"a switch behind the switch", {{1, 2, 3, 5, 6, 7}, {0}, {0}}, Level::pxb},
      {"another port of the root", {{1, 8}, {0}, {0}}, Level::phb},
      {"another host bridge", {{9, 10}, {0}, {0}}, Level::node},
      {"another memory node", {{9, 10}, {1}, {0}}, Level::pkg},
      {"another package", {{9, 10}, {4}, {1}}, Level::sys},
      {"near several memory nodes", {{9}, {0, 1}, {0}}, Level::pkg},
      {"near all of the machine", {{9}, {0, 1}, {0, 1}}, Level::sys},
  };
  for (const auto& [what, nic, expected] : cases) {
    EXPECT_EQ(level(gpu, nic), expected) << what;
    EXPECT_EQ(level(nic, gpu), expected) << what;
  }
}

TEST(Level, TwoFunctionsOfOneCardAreBelowOneBridge) {
  EXPECT_EQ(level({{1, 2}, {0}, {0}}, {{1, 2}, {0}, {0}}), Level::pix);
}

TEST(Level, IsSymmetric) {
  Random random;
  const auto locality = [&] {
    Locality at;
    for (std::size_t depth = random.below(5); depth > 0; --depth)
      at.bridges.push_back(static_cast<std::uint32_t>(random.below(2) + 2 * at.bridges.size()));
    at.nodes.add(static_cast<std::uint32_t>(random.below(4)));
    at.packages.add(static_cast<std::uint32_t>(random.below(2)));
    return at;
  };
  for (int i = 0; i < 1000; ++i) {
    const Locality a = locality(), b = locality();
    ASSERT_EQ(level(a, b), level(b, a)) << random;
  }
}

TEST(PciAddress, IsReadAndWritten) {
  const struct {
    std::string_view text;
    std::string_view written;
  } cases[] = {
      {"0000:03:00.0", "0000:03:00.0"}, {"03:1f.7", "0000:03:1f.7"}, {"10000:E1:00.0", "10000:e1:00.0"}};
  for (const auto& [text, written] : cases) {
    ASSERT_TRUE(PciAddress::parse(text)) << text;
    EXPECT_EQ(PciAddress::parse(text)->text(), written);
  }
  for (const auto* text :
       {"", "03", "03:00", "0:0:0:0.0", "0000:03:20.0", "0000:03:00.8", "0000:100:00.0", "g:0:0.0"})
    EXPECT_FALSE(PciAddress::parse(text)) << text;
}

}  // namespace
}  // namespace pinstep
