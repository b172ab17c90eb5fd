#include "launcher/worker/cli/option.h"

#include "tests/unit/support/results.h"

namespace pinstep::worker {
namespace {

using testing_support::FailsWith;
using testing_support::Succeeds;

struct Values {
  bool flag = false;
  std::string text;
  std::uint64_t count = 0;
  float real = 0;
  Milliseconds time{0};
  std::size_t bytes = 0;
  double rate = 0;

  std::vector<Option> rows() {
    return {flag_option("--flag", flag),    text_option("--text", "a directory", text),
            count_option("--count", count), real_option("--real", real),
            seconds_option("--time", time), bytes_option("--bytes", bytes),
            rate_option("--rate", rate)};
  }
};

TEST(Option, IsReadInBothForms) {
  Values v;
  std::vector<std::string> rest;
  ASSERT_THAT(read_options({"--count=7", "a", "--text", "--flag", "--flag", "--real", "0.5", "b", "--time=2.5",
                            "--bytes", "3K"},
                           v.rows(), &rest),
              Succeeds());
  EXPECT_EQ(v.count, 7U);
  EXPECT_EQ(v.text, "--flag");
  EXPECT_TRUE(v.flag);
  EXPECT_EQ(v.real, 0.5F);
  EXPECT_EQ(v.time, Milliseconds(2500));
  EXPECT_EQ(v.bytes, 3072U);
  EXPECT_EQ(rest, (std::vector<std::string>{"a", "b"}));
}

TEST(Option, BytesHaveUnits) {
  const struct {
    const char* text;
    std::size_t bytes;
  } cases[] = {{"1", 1}, {"1000", 1000}, {"64K", 65536}, {"25M", 26214400}, {"1G", 1U << 30}};
  for (const auto& [text, bytes] : cases) {
    Values v;
    ASSERT_THAT(read_options({"--bytes", text}, v.rows()), Succeeds());
    EXPECT_EQ(v.bytes, bytes) << text;
  }
}

TEST(Option, RatesHaveUnitsOfNetworks) {
  const struct {
    const char* text;
    double rate;
  } cases[] = {{"1", 1}, {"1000", 1e3}, {"64K", 64e3}, {"0.5M", 0.5e6}, {"12.5G", 12.5e9}, {"1e3", 1e3}};
  for (const auto& [text, rate] : cases) {
    Values v;
    ASSERT_THAT(read_options({"--rate", text}, v.rows()), Succeeds());
    EXPECT_EQ(v.rate, rate) << text;
  }
}

TEST(Option, TellsWhatIsWrong) {
  const struct {
    std::vector<std::string> words;
    const char* cause;
    const char* hint;
  } cases[] = {
      {{"word"}, "'word' is no option", "--help lists the options"},
      {{"--cuont=2"}, "there is no option '--cuont'", "did you mean '--count'?"},
      {{"--nonsense"}, "there is no option '--nonsense'", "--help lists the options"},
      {{"--count"}, "option '--count' needs a value", ""},
      {{"--flag=1"}, "option '--flag' takes no value", ""},
      {{"--count=0"}, "'--count' wants a number from 1, not '0'", ""},
      {{"--count=-1"}, "'--count' wants a number from 1, not '-1'", ""},
      {{"--real=-1"}, "'--real' wants a number such as 0.05, not '-1'", ""},
      {{"--real=nan"}, "'--real' wants a number such as 0.05, not 'nan'", ""},
      {{"--time=0"}, "'--time' wants seconds, from 0.1, not '0'", ""},
      {{"--bytes=1T"}, "'--bytes' wants bytes, such as 25M, not '1T'", ""},
      {{"--bytes=K"}, "'--bytes' wants bytes, such as 25M, not 'K'", ""},
      {{"--rate=0"}, "'--rate' wants bytes per second, such as 12.5G, not '0'", ""},
      {{"--rate=-1G"}, "'--rate' wants bytes per second, such as 12.5G, not '-1G'", ""},
      {{"--rate=1T"}, "'--rate' wants bytes per second, such as 12.5G, not '1T'", ""},
      {{"--rate=G"}, "'--rate' wants bytes per second, such as 12.5G, not 'G'", ""},
      {{"--text="}, "'--text' wants a directory, not ''", ""},
  };
  for (const auto& [words, cause, hint] : cases) {
    Values v;
    EXPECT_THAT(read_options(words, v.rows()), FailsWith(ErrorKind::usage, cause, hint));
  }
}

}  // namespace
}  // namespace pinstep::worker
