#include "envtools/base/text.h"

#include <sys/wait.h>

#include <cstdio>
#include <cstdlib>

#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing::Optional;
using testing_support::Random;
using testing_support::shown;

TEST(IsHex, WantsLowerCaseAndTheExactNumberOfDigits) {
  EXPECT_TRUE(is_hex("09af", 4));
  EXPECT_FALSE(is_hex("09aF", 4));
  EXPECT_FALSE(is_hex("09af0", 4));
  EXPECT_FALSE(is_hex("", 4));
}

TEST(FormatSize, HasTwoDigitsAtLeast) {
  const std::vector<std::pair<std::uint64_t, const char*>> table{
      {0, "0 B"},          {999, "999 B"},           {1000, "1.0 kB"}, {13'646'687, "14 MB"},
      {999'600, "1.0 MB"}, {5'000'000'000, "5.0 GB"}};
  for (const auto& [bytes, text] : table) EXPECT_EQ(format_size(bytes), text);
}

TEST(Split, GivesOnePieceMoreThanThereAreSeparators) {
  EXPECT_THAT(split("", ':'), ElementsAre(""));
  EXPECT_THAT(split("a", ':'), ElementsAre("a"));
  EXPECT_THAT(split("a:b:", ':'), ElementsAre("a", "b", ""));
  EXPECT_THAT(split(":", ':'), ElementsAre("", ""));
  EXPECT_THAT(split("a::b", ':'), ElementsAre("a", "", "b"));
  EXPECT_THAT(split(std::string_view("a\0b", 3), '\0'), ElementsAre("a", "b"));
}

TEST(SplitOnce, SplitsAtTheFirstSeparatorOnly) {
  struct Case {
    std::string_view text, before, after;
  };
  for (const Case& c : {Case{"a=b", "a", "b"}, Case{"a=b=c", "a", "b=c"}, Case{"=b", "", "b"},
                        Case{"a=", "a", ""}, Case{"=", "", ""}}) {
    const auto halves = split_once(c.text, '=');
    ASSERT_TRUE(halves) << shown(c.text);
    EXPECT_EQ(halves->before, c.before) << shown(c.text);
    EXPECT_EQ(halves->after, c.after) << shown(c.text);
  }
}

TEST(SplitOnce, GivesNothingWithoutSeparator) {
  EXPECT_FALSE(split_once("", '='));
  EXPECT_FALSE(split_once("abc", '='));
}

TEST(Trim, TakesBlanksOffBothEnds) {
  EXPECT_EQ(trim(" \t\r\n\v\fa b \t\r\n\v\f"), "a b");
  EXPECT_EQ(trim("a"), "a");
  EXPECT_EQ(trim(""), "");
  EXPECT_EQ(trim(" \t "), "");
}

TEST(LastLine, IsTheLastThatSaysSomething) {
  EXPECT_EQ(last_line("a\n b \n\n \t\r\n"), "b");
  EXPECT_EQ(last_line("progress\rdone"), "done");
  EXPECT_EQ(last_line("a"), "a");
  EXPECT_EQ(last_line("\n"), "");
}

TEST(ParseNumber, TakesAWholeDecimalNumberThatFits) {
  EXPECT_THAT(parse_number<std::uint32_t>("0"), Optional(0u));
  EXPECT_THAT(parse_number<std::uint32_t>("007"), Optional(7u));
  EXPECT_THAT(parse_number<std::uint32_t>("4294967295"), Optional(4294967295u));
  EXPECT_THAT(parse_number<std::uint16_t>("65535"), Optional(65535));
  EXPECT_THAT(parse_number<std::uint64_t>("18446744073709551615"), Optional(18446744073709551615u));
}

TEST(ParseNumber, RefusesEverythingElse) {
  for (const std::string_view text : {"", " ", "-", "-0", "-1", "+1", " 1", "1 ", "0x1", "1.0", "1e3", "1a",
                                      "a", "4294967296", "99999999999999999999999", "１"})
    EXPECT_FALSE(parse_number<std::uint32_t>(text)) << shown(text);
  EXPECT_FALSE(parse_number<std::uint16_t>("65536"));
  EXPECT_FALSE(parse_number<std::uint32_t>(std::string_view("1\0", 2)));
}

TEST(PercentEncode, EscapesWhatIsNotPrintableAndWhatIsSpecial) {
  struct Case {
    std::string_view text, special, encoded;
  };
  for (const Case& c : {Case{"", ";", ""}, Case{"/a-b_c.d~", ";", "/a-b_c.d~"}, Case{"a b", "", "a%20b"},
                        Case{"100%", "", "100%25"}, Case{"a;b,c", ";,", "a%3Bb%2Cc"}, Case{"a;b", "", "a;b"},
                        Case{"\x7f\t\n", "", "%7F%09%0A"}, Case{"ä", "", "%C3%A4"},
                        Case{std::string_view("\0", 1), "", "%00"}, Case{"\xff", "", "%FF"}})
    EXPECT_EQ(percent_encode(c.text, c.special), c.encoded) << shown(c.text);
}

TEST(PercentDecode, TakesBothCasesOfHexDigitsAndPlainBytes) {
  EXPECT_THAT(percent_decode("%c3%A4"), Optional(std::string("ä")));
  EXPECT_THAT(percent_decode("a b;\x01"), Optional(std::string("a b;\x01")));
  EXPECT_THAT(percent_decode("%00"), Optional(std::string(1, '\0')));
  EXPECT_THAT(percent_decode(""), Optional(std::string()));
}

TEST(PercentDecode, RefusesABrokenEscape) {
  for (const std::string_view text : {"%", "a%", "%4", "a%4", "%g0", "%0g", "%%41", "%-1", "%+1", "% 1"})
    EXPECT_FALSE(percent_decode(text)) << shown(text);
}

TEST(PercentEncode, IsReversedByDecodeForAnyTextAndSpecials) {
  Random random;
  for (int i = 0; i < 5000; ++i) {
    const std::string text = random.bytes(0, 40);
    const std::string special = random.bytes(0, 4);
    const std::string encoded = percent_encode(text, special);
    EXPECT_EQ(percent_decode(encoded), std::optional(text)) << random << shown(text);
    for (const char c : encoded) {
      EXPECT_TRUE(c > 0x20 && c < 0x7f) << random << shown(text);
      EXPECT_TRUE(c == '%' || std::isxdigit(c) || special.find(c) == std::string::npos)
          << random << shown(text) << " special " << shown(special);
    }
  }
}

TEST(ShellQuote, QuotesOnlyWhatNeedsIt) {
  struct Case {
    std::string_view text, quoted;
  };
  for (const Case& c :
       {Case{"", "''"}, Case{"plain", "plain"}, Case{"/a/b-c_d.e", "/a/b-c_d.e"}, Case{"a=b", "a=b"},
        Case{"a b", "'a b'"}, Case{"it's", "'it'\\''s'"}, Case{"$HOME", "'$HOME'"}, Case{"`x`", "'`x`'"},
        Case{"~", "'~'"}, Case{"a\nb", "'a\nb'"}, Case{"*", "'*'"}, Case{"ä", "'ä'"}, Case{"'", "''\\'''"}})
    EXPECT_EQ(shell_quote(c.text), c.quoted) << shown(c.text);
}

TEST(ShellQuote, GivesAShellBackTheSameWords) {
  Random random;
  std::string script = "printf '%s.'";  // a dot ends each word: $(…) and newlines would hide the ends
  std::string expected;
  for (int i = 0; i < 300; ++i) {
    std::string word = random.bytes(0, 12);
    std::erase(word, '\0');  // no shell can pass it
    script += " " + shell_quote(word);
    expected += word + ".";
  }
  // popen is a shell, and here the shell is what is tested against.
  std::FILE* shell = ::popen(("LC_ALL=C; " + script).c_str(), "r");
  ASSERT_NE(shell, nullptr);
  std::string output;
  char buffer[4096];
  while (const std::size_t got = std::fread(buffer, 1, sizeof buffer, shell)) output.append(buffer, got);
  EXPECT_EQ(::pclose(shell), 0) << random;
  EXPECT_EQ(output, expected) << random;
}

TEST(Nearest, FindsASlipOfTheFinger) {
  const std::vector<std::string_view> keys{"address", "enoent_wait", "pythonpath", "pythonhome"};
  struct Case {
    std::string_view word;
    std::optional<std::string_view> found;
  };
  for (const Case& c : {Case{"adress", "address"},         // a letter lost
                        Case{"addresss", "address"},       // one too many
                        Case{"pythonpaht", "pythonpath"},  // two swapped
                        Case{"pythonpath", "pythonpath"}, Case{"enoentwait", "enoent_wait"},
                        Case{"shape", std::nullopt}, Case{"", std::nullopt}, Case{"x", std::nullopt}})
    EXPECT_EQ(nearest(c.word, keys), c.found) << shown(c.word);
  EXPECT_EQ(nearest("a", {}), std::nullopt);
}

TEST(Utf8Character, KnowsWhatIsOne) {
  for (const std::string_view one :
       {"a", "\xc3\xa4", "\xe2\x80\xa6", "\xf0\x9f\x98\x80", "\xed\x9f\xbf", "\xf4\x8f\xbf\xbf"}) {
    EXPECT_EQ(utf8_character(one), one.size()) << shown(one);
    EXPECT_EQ(utf8_character(std::string(one) + "x"), one.size()) << shown(one);
    EXPECT_EQ(utf8_character(one.substr(0, one.size() - 1).empty() ? one : one.substr(0, one.size() - 1)),
              one.size() == 1 ? 1u : 0u)
        << shown(one) << " cut off";
  }
  // Overlong, a surrogate, past the last character, a lone continuation, no lead byte at all.
  for (const std::string_view none :
       {"\xc0\x80", "\xc1\xbf", "\xe0\x80\x80", "\xed\xa0\x80", "\xf0\x80\x80\x80", "\xf4\x90\x80\x80",
        "\xf5\x80\x80\x80", "\x80", "\xff", "\xc3("})
    EXPECT_EQ(utf8_character(none), 0u) << shown(none);
}

TEST(Printable, IsOneLineThatATerminalCanShow) {
  EXPECT_EQ(printable("a\nb\x1b[31m\x7f\xff\xc3\xa4"), "a?b?[31m??\xc3\xa4");
  EXPECT_LT(printable(std::string(1'000'000, 'x')).size(), 2100u);
}

TEST(Nearest, AllowsOneEditInTheShortestWordsAndAThirdOfLongOnes) {
  EXPECT_EQ(nearest("ab", {"ax"}), "ax");
  EXPECT_EQ(nearest("ab", {"xy"}), std::nullopt);
  EXPECT_EQ(nearest("abcdef", {"abcdxy"}), "abcdxy");
  EXPECT_EQ(nearest("abcdef", {"abcxyz"}), std::nullopt);
}

TEST(Nearest, PrefersTheClosestAndOfEquallyCloseTheFirst) {
  EXPECT_EQ(nearest("abcdef", {"abcdxy", "abcdxf", "abcdyf"}), "abcdxf");
}

TEST(Fnv1a, GivesThePublishedValues) {
  EXPECT_EQ(fnv1a(""), 0x811c9dc5u);
  EXPECT_EQ(fnv1a("a"), 0xe40c292cu);
  EXPECT_EQ(fnv1a("foobar"), 0xbf9cf968u);
  EXPECT_EQ(fnv1a("\xff"), (0x811c9dc5u ^ 0xffu) * 0x01000193u);
}

}  // namespace
}  // namespace pinstep
