#include "launcher/worker/units/units.h"

#include <gtest/gtest.h>

namespace pinstep::worker {
namespace {

TEST(Units, NumbersHaveThreeDigitsAndNoExponent) {
  const struct {
    double value;
    const char* text;
  } cases[] = {
      {0, "0"},         {1, "1.00"},          {12.34, "12.3"}, {999.4, "999"},       {99.97, "100"},
      {0.9996, "1.00"}, {1234567, "1234567"}, {0.5, "0.500"},  {0.0008, "0.000800"}, {1.234e-6, "0.00000123"}};
  for (const auto& [value, text] : cases) EXPECT_EQ(three_digits(value), text) << value;
}

TEST(Units, AreTheLargestThatFit) {
  EXPECT_EQ(shown_rate(107e9), "107 GB/s");
  EXPECT_EQ(shown_rate(1e9), "1.00 GB/s");
  EXPECT_EQ(shown_rate(12.5e6), "12.5 MB/s");
  EXPECT_EQ(shown_rate(1500), "1.50 kB/s");
  EXPECT_EQ(shown_rate(2), "2.00 B/s");
  EXPECT_EQ(shown_time(3600), "3600 s");
  EXPECT_EQ(shown_time(0.005), "5.00 ms");
  EXPECT_EQ(shown_time(20e-6), "20.0 us");
  EXPECT_EQ(shown_time(1e-9), "1.00 ns");
  EXPECT_EQ(shown_time(0), "0 ns");
  EXPECT_EQ(shown_size(128 << 20), "128 MiB");
  EXPECT_EQ(shown_size(std::uint64_t{3} << 30), "3.00 GiB");
  EXPECT_EQ(shown_size(1536), "1.50 KiB");
  EXPECT_EQ(shown_size(7), "7.00 bytes");
}

}  // namespace
}  // namespace pinstep::worker
