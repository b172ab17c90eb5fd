#include "launcher/machine/bits.h"

#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing_support::Random;

TEST(Bits, ListsAreReadAndWrittenAsLinuxDoes) {
  const struct {
    std::string_view text;
    std::vector<std::uint32_t> numbers;
  } cases[] = {
      {"", {}}, {"0", {0}}, {"0-3", {0, 1, 2, 3}}, {"0,2-3,64", {0, 2, 3, 64}}, {"63-64", {63, 64}},
  };
  for (const auto& [text, numbers] : cases) {
    const auto bits = Bits::parse(text);
    ASSERT_TRUE(bits) << text;
    EXPECT_EQ(bits->numbers(), numbers) << text;
    EXPECT_EQ(bits->text(), text);
  }
}

TEST(Bits, OtherTextsAreRefused) {
  for (const auto* text :
       {"-", "1-", "-1", "3-1", "0,", ",0", "a", "0 1", "0-65536", "4294967296", "0-4294967295"})
    EXPECT_FALSE(Bits::parse(text)) << text;
  for (const auto* text : {"", "0x", "x", "0xg", "1,123456789", "-1", "1 2"})
    EXPECT_FALSE(Bits::parse_mask(text)) << text;
}

TEST(Bits, MasksAreReadWordByWord) {
  EXPECT_EQ(Bits::parse_mask("0x5"), (Bits{0, 2}));
  EXPECT_EQ(Bits::parse_mask("F0"), (Bits{4, 5, 6, 7}));
  EXPECT_EQ(Bits::parse_mask("0x1,0x00000002"), (Bits{1, 32}));
  EXPECT_EQ(Bits::parse_mask("0x1,,0x1"), (Bits{0, 64}));
  EXPECT_EQ(Bits::parse_mask("0x10000000000000000"), (Bits{64}));
}

TEST(Bits, SetsBehaveAsSets) {
  Random random;
  for (int i = 0; i < 200; ++i) {
    std::vector<bool> mine(200), other(200);
    Bits a, b;
    for (std::uint32_t n = 0; n < 200; ++n) {
      if (random.one_in(7)) mine[n] = true, a.add(n);
      if (random.one_in(7)) other[n] = true, b.add(n);
    }
    Bits both = a;
    both.keep(b);
    Bits any = a;
    any.add(b);
    bool meets = false;
    bool within = true;
    for (std::uint32_t n = 0; n < 200; ++n) {
      ASSERT_EQ(both.has(n), mine[n] && other[n]) << random;
      ASSERT_EQ(any.has(n), mine[n] || other[n]) << random;
      meets = meets || (mine[n] && other[n]);
      within = within && (!mine[n] || other[n]);
    }
    EXPECT_EQ(a.meets(b), meets) << random;
    EXPECT_EQ(a.is_within(b), within) << random;
    EXPECT_TRUE(both.is_within(a) && both.is_within(b)) << random;
    EXPECT_EQ(Bits::parse(any.text()), any) << random;
    EXPECT_EQ(any.count(), any.numbers().size()) << random;
  }
}

}  // namespace
}  // namespace pinstep
