#include "envtools/lock/version.h"

#include <gtest/gtest.h>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "tests/unit/support/testdata.h"

namespace pinstep {
namespace {

// As conda's parser prints it: the epoch first, without the local part.
std::string shown(const Version& version) {
  std::string text = "[[" + std::to_string(version.epoch) + "]";
  for (const auto& segment : version.segments) {
    text += ", [";
    for (std::size_t i = 0; i < segment.size(); ++i) {
      if (i > 0) text += ", ";
      const auto& [letters, number] = segment[i];
      if (!letters.empty())
        text += "'" + letters + "'";
      else
        text += number == kPostRelease ? "inf" : std::to_string(number);
    }
    text += "]";
  }
  return text + "]";
}

// Each row is less than the next; the versions of a row are equal.
const std::vector<std::vector<std::string>> kOrdered{
    {"0.4", "0.4.0", "0.4.0.0"},
    {"0.4.1.rc", "0.4.1.RC"},
    {"0.4.1"},
    {"0.5a1"},
    {"0.5b3", "0.5B3"},
    {"0.5C1"},
    {"0.5-b3", "0.5_b3", "0.5.b3"},
    {"0.5"},
    {"0.9.6"},
    {"0.960923"},
    {"1.0.1dev"},
    {"1.0.1_"},
    {"1.0.1a"},
    {"1.0.1"},
    {"1.0.1.post1", "1.0.1.0post1"},
    {"1.0.1post1"},
    {"1.1dev1"},
    {"1.1a1"},
    {"1.1.0dev1"},
    {"1.1.0rc1"},
    {"1.1+cpu"},
    {"1.1", "1.1.0"},
    {"1.1+1"},
    {"1.1post1"},
    {"1.10"},
    {"1996.07.12"},
    {"1!0.4.1"},
    {"1!3.1.1.6"},
    {"2!0.4.1"},
};

TEST(Version, HasCondasOrder) {
  for (std::size_t i = 0; i < kOrdered.size(); ++i)
    for (std::size_t j = 0; j < kOrdered.size(); ++j)
      for (const std::string& a : kOrdered[i])
        for (const std::string& b : kOrdered[j])
          EXPECT_EQ(compare_versions(a, b), i <=> j) << a << " and " << b;
}

TEST(Version, TextThatIsNoneHasAPlaceToo) {
  for (const char* text : {"", "!", "+", "..", "*", "1.", "99999999999999999999999", "1.0.*"})
    EXPECT_EQ(compare_versions(text, text), std::weak_ordering::equivalent) << text;
  EXPECT_EQ(compare_versions("99999999999999999999999", "1"), std::weak_ordering::greater);
}

TEST(Version, IsReadAsCondaReadsIt) {
  const std::string path = testing_support::testdata("conda/conda-meta/rattler--parsed_versions.sample.txt");
  if (path.empty()) GTEST_SKIP() << "no test data: conda/conda-meta";
  const auto file = read_file(path, 1 << 20);
  ASSERT_TRUE(file);
  std::size_t seen = 0;
  for (const std::string_view line : split(file->text, '\n')) {
    const auto halves = split_once(line, '=');
    if (!halves) continue;
    ++seen;
    EXPECT_EQ(shown(parse_version(halves->before)), halves->after) << halves->before;
  }
  EXPECT_EQ(seen, 1499u);
}

}  // namespace
}  // namespace pinstep
