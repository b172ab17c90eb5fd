#include "envtools/yaml/toml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::StartsWith;
using testing_support::Succeeds;

TEST(ParseToml, IsATreeWithLines) {
  const auto root = parse_toml(
      "version = 1\nopen = true\nday = 2024-03-01\n[[package]]\nname = \"a\"\nneeds = [\n  { name = \"b\" "
      "},\n]\n"
      "[[package]]\nname = 'true'\n[package.source]\nurl.inner = \"u\"\n",
      "/d/uv.lock");
  ASSERT_THAT(root, Succeeds());
  EXPECT_EQ(root->find("version")->text, "1");
  EXPECT_FALSE(root->find("version")->quoted);
  EXPECT_EQ(root->find("open")->text, "true");
  EXPECT_EQ(root->find("day")->text, "2024-03-01");
  const YamlNode* packages = root->find("package");
  ASSERT_TRUE(packages != nullptr && packages->is_sequence());
  ASSERT_EQ(packages->items.size(), 2u);
  const YamlNode& first = packages->items[0];
  EXPECT_EQ(first.line, 4);
  EXPECT_EQ(first.find("name")->line, 5);
  EXPECT_EQ(first.find("needs")->items[0].find("name")->text, "b");
  EXPECT_EQ(first.find("needs")->items[0].line, 7);
  EXPECT_TRUE(packages->items[1].find("name")->quoted);
  EXPECT_EQ(packages->items[1].find("source")->find("url")->find("inner")->text, "u");
}

TEST(ParseToml, TakesEveryCharacterInStringsAndComments) {
  for (const std::string text : {"a = \"ä\"  # ö\n", "a = 'ä'", "\"ä\" = 1", "a = \"\\\"ä\"\n",
                                 "a = \"\"\"\nä\"\"\"\"\"\nb = 'ü'\n", "a = '''ä''''\nb = \"ü\"\n", "# ä"})
    EXPECT_THAT(parse_toml(text, "/d/f"), Succeeds()) << text;
}

TEST(ParseToml, RefusesOtherCharactersElsewhere) {
  for (const auto& [text, line] : {std::pair{"ä = 1\n", "1"},
                                   {"a = 1\n[tä]\n", "2"},
                                   {"a = '''\n\n''' ä", "3"},
                                   {"a = ä", "1"},
                                   {"# x\n\u00a0a = 1", "2"},
                                   {"a = 'b' ä", "1"}}) {
    const auto root = parse_toml(text, "/d/f");
    ASSERT_FALSE(root) << text;
    EXPECT_EQ(root.error().cause, std::string("/d/f:") + line + ": this is no TOML: a character outside of " +
                                      "strings and comments that is not ASCII")
        << text;
  }
}

TEST(ParseToml, SaysWhatIsWrongAndWhere) {
  for (const auto& [text, cause] : {std::pair{"a = 1\nb = \n", "/d/f:2: this is no TOML: "},
                                    {"a = 1\n\na = 2\n", "/d/f:3: this is no TOML: "},
                                    {"version = 1\n[[(plo^k-versacka", "/d/f:2: this is no TOML: "},
                                    {"[, \"x\"]\n", "/d/f:1: this is no TOML: "},
                                    {"[a\n", "/d/f:1: this is no TOML: "},
                                    {"a = \"\xff\"\n", "/d/f:"}}) {
    const auto root = parse_toml(text, "/d/f");
    ASSERT_FALSE(root) << text;
    EXPECT_EQ(root.error().kind, ErrorKind::invalid);
    EXPECT_THAT(root.error().cause, StartsWith(cause));
  }
}

TEST(ParseToml, TakesAnEmptyFile) { EXPECT_TRUE(parse_toml("", "/d/f").value().is_map()); }

TEST(ParseToml, DoesNotEndInAStackOverflow) {
  EXPECT_FALSE(parse_toml("a = " + std::string(100000, '[') + "\n", "/d/f"));
}

}  // namespace
}  // namespace pinstep
