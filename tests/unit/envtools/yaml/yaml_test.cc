#include "envtools/yaml/yaml.h"

#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing_support::FailsWith;
using testing_support::Random;
using testing_support::shown;
using testing_support::Succeeds;

// A tree on one line: {a@1: 'x', b@2: [y, null]}.
std::string sketch(const YamlNode& node) {
  if (node.is_null()) return "null";
  if (node.is_scalar()) return node.quoted ? "'" + node.text + "'" : node.text;
  std::string text;
  for (std::size_t i = 0; i < node.items.size(); ++i) {
    if (i > 0) text += ", ";
    if (node.is_map()) text += node.keys[i].text + "@" + std::to_string(node.keys[i].line) + ": ";
    text += sketch(node.items[i]);
  }
  return node.is_map() ? "{" + text + "}" : "[" + text + "]";
}

std::string parsed(std::string_view text) {
  const auto node = parse_yaml(text, "f");
  return node ? sketch(*node)
              : node.error().cause + (node.error().hint.empty() ? "" : " | " + node.error().hint);
}

TEST(ParseYaml, KeepsPlainScalarsAsTheyWereWritten) {
  EXPECT_EQ(parsed("a: yes\nb: 1_000\nc: 0x10\nd: 1e3\ne: 2024-01-01\nf: 1.10\n"),
            "{a@1: yes, b@2: 1_000, c@3: 0x10, d@4: 1e3, e@5: 2024-01-01, f@6: 1.10}");
}

TEST(ParseYaml, TellsNullFromTextInQuotes) {
  EXPECT_EQ(parsed("- null\n- ~\n-\n- 'null'\n- ''\n- NULL\n"), "[null, null, null, 'null', '', null]");
}

TEST(ParseYaml, TakesWhatPeopleWrite) {
  EXPECT_EQ(parsed(""), "null");
  EXPECT_EQ(parsed("# only a comment\n"), "null");
  EXPECT_EQ(parsed("a:\n- x\n- y\n"), "{a@1: [x, y]}");
  EXPECT_EQ(parsed("a: |\n  x\n  y\n"), "{a@1: 'x\ny\n'}");
  EXPECT_EQ(parsed("a: {b: [1, 2]}\r\n"), "{a@1: {b@1: [1, 2]}}");
  EXPECT_EQ(parsed("---\na: b\n...\n"), "{a@2: b}");
  EXPECT_EQ(parsed("\xef\xbb\xbf"
                   "a: b\n"),
            "{a@1: b}");
  EXPECT_EQ(parsed("a: &x [1]\nb: *x\n"), "{a@1: [1], b@2: [1]}");
}

TEST(ParseYaml, KnowsWhereAValueIsMissing) {
  const auto node = parse_yaml("a:\n  -\n\n# c\n  - ~\n  - null\n\n\nb:\n", "f");
  ASSERT_THAT(node, Succeeds());
  std::vector<int> lines;
  for (const YamlNode& item : node->items[0].items) lines.push_back(item.line);
  lines.push_back(node->items[1].line);
  EXPECT_THAT(lines, testing::ElementsAre(4, 5, 6, 9));  // a comment counts as content
}

TEST(ParseYaml, ReadsUtf16WithAByteOrderMark) {
  const std::string little(
      "\xff\xfe"
      "a\0:\0 \0\xe4\0\n\0",
      12),
      big("\xfe\xff"
          "\0a\0:\0 \xd8\x3d\xde\x00",
          12);
  EXPECT_EQ(parsed(little), "{a@1: \xc3\xa4}");
  EXPECT_EQ(parsed(big), "{a@1: \xf0\x9f\x98\x80}");
  EXPECT_EQ(parsed(std::string("\xfe\xff"
                               "\xd8\x3d\0a",
                               6)),
            "\xef\xbf\xbd"
            "a");  // half of a pair
}

TEST(ParseYaml, SaysWhereItStopped) {
  struct Case {
    std::string text, cause;
  };
  const Case cases[] = {
      {"a: 1\nb: 2\na: 3\n", "f:3: the key 'a' stands in line 1 already"},
      {"x:\n  a: 1\n  'a': 3\n", "f:3: the key 'a' stands in line 2 already"},
      {"a: 1\n---\nb: 2\n", "f:3: a second document begins"},
      {"a: b: c\n", "f:1: illegal map value"},
      {"a:\n\t- b\n", "f:2: a tab indents this line | YAML is indented by spaces only"},
      {"a:\n  - b\n\tc: d\n", "f:3: a tab indents this line | YAML is indented by spaces only"},
      {"base: &b {x: 1}\nc:\n  <<: *b\n", "f:3: a merge key '<<', which pinstep does not read"},
      {"? [a]\n: b\n", "f:1: a key that is a list or a map"},
      {"a: {{ x }}\n", "f:1: a key that is a list or a map"},
      {"a: &x [*x]\n", "f:1: an alias inside of what it stands for"},
      {"a: *x\n", "f:1: the referenced anchor is not defined"},
      {"ok: 1\nb: \xff\n", "f:2: a byte that is not UTF-8"},
      {std::string("a: 1\nb: \0\n", 10), "f:2: a control character"},
      {"a: \"\\N\"\n", "f:1: an escape that stands for no text"},
      {"a: \"\\0\"\n", "f:1: an escape that stands for no text"},
      {"a: \x1b[31m\n", "f:1: a control character"},
  };
  for (const Case& c : cases) EXPECT_EQ(parsed(c.text), c.cause) << shown(c.text);
}

TEST(ParseYaml, EndsWhatIsTooDeepOrMultipliesItself) {
  EXPECT_EQ(parsed(std::string(65, '[') + std::string(65, ']')), "f:1: too many levels");
  EXPECT_THAT(parse_yaml(std::string(64, '[') + std::string(64, ']'), "f"), Succeeds());
  EXPECT_FALSE(parse_yaml(std::string(100'000, '['), "f"));
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [";
    for (int n = 0; n < 9; ++n) bomb += before + ", ";
    bomb += before + "]\n";
  }
  EXPECT_EQ(parsed(bomb), "f:4: too many aliases");
}

TEST(ParseYaml, GivesAnErrorOrATreeForWhateverItGets) {
  Random random;
  constexpr std::string_view alphabet = "ab:-?[]{}&*!|>'\"%@`#, \n\n  \t~1.";
  for (int i = 0; i < 3000; ++i) {
    const std::string text = random.one_in(4) ? random.bytes(0, 60) : random.text(alphabet, 0, 60);
    const auto node = parse_yaml(text, "f");
    EXPECT_TRUE(node || node.error().cause.starts_with("f:")) << random << shown(text);
  }
}

TEST(YamlScalar, QuotesWhatAnyYamlWouldTakeForSomethingElse) {
  const std::pair<const char*, const char*> cases[] = {
      {"numpy", "numpy"},
      {"linux-64", "linux-64"},
      {"https://example.org/a-1.0-0.conda", "https://example.org/a-1.0-0.conda"},
      {"", "''"},
      {"0.10", "'0.10'"},
      {"1e5", "'1e5'"},
      {"No", "'No'"},
      {"y", "'y'"},
      {"null", "'null'"},
      {"~", "'~'"},
      {">=1,<2", "'>=1,<2'"},
      {"a b", "'a b'"},
      {"a: b", "'a: b'"},
      {"a:", "'a:'"},
      {"it's", "'it''s'"},
      {"a\nb", "\"a\\nb\""},
      {"\"\\\t", "\"\\\"\\\\\\x09\""},
      {"\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80", "\"\\xe4\\u20ac\\U0001f600\""},
  };
  for (const auto& [text, scalar] : cases) EXPECT_EQ(yaml_scalar(text), scalar);
}

TEST(YamlScalar, IsReadBackAsTheSameText) {
  Random random;
  for (int i = 0; i < 3000; ++i) {
    std::string text = random.text("abZ019 \t\n:#'\"\\-_.,[]{}&*!|>%@`=<~?", 0, 12);
    if (random.one_in(3)) text += "\xc3\xa4\xf0\x9f\x98\x80";
    const auto node = parse_yaml("k: " + yaml_scalar(text) + "\n" + yaml_scalar("x" + text) + ": v\n", "f");
    ASSERT_THAT(node, Succeeds()) << random << shown(text);
    EXPECT_EQ(node->items[0].text, text) << random;
    EXPECT_EQ(node->keys[1].text, "x" + text) << random;
  }
}

}  // namespace
}  // namespace pinstep
