#include "envtools/json/json.h"

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

TEST(Json, CarriesEveryKindOfErrorThereAndBack) {
  for (int i = 0; i <= static_cast<int>(ErrorKind::os); ++i) {
    const Error before{static_cast<ErrorKind>(i), "cause", "hint"};
    const Error after = error_of(json_of(before));
    EXPECT_EQ(after.kind, before.kind);
    EXPECT_EQ(after.cause, "cause");
    EXPECT_EQ(after.hint, "hint");
  }
}

TEST(Json, ReadsAnErrorOfAnUnknownKindOrShapeAsAnErrorOfTheSystem) {
  EXPECT_EQ(error_of(Json::parse(R"({"kind": "tired", "cause": 3})")).kind, ErrorKind::os);
  EXPECT_EQ(error_of(Json::parse("[]")).cause, "");
}

TEST(DumpJson, WritesTextThatIsNoUtf8) { EXPECT_EQ(dump_json(Json("a\xff")), "\"a\xEF\xBF\xBD\""); }

TEST(ParseJson, NamesTheSubject) {
  const auto broken = parse_json("{", "the answer");
  ASSERT_FALSE(broken);
  EXPECT_EQ(broken.error().kind, ErrorKind::invalid);
  EXPECT_TRUE(broken.error().cause.starts_with("the answer is not JSON: ")) << broken.error().cause;
}

TEST(ParseJson, TakesNothingThatCouldExhaustTheStack) {
  const auto nested = [](std::size_t depth) { return std::string(depth, '[') + std::string(depth, ']'); };
  EXPECT_THAT(parse_json(nested(256), "x"), testing_support::Succeeds());
  for (const std::string& text :
       {nested(257), nested(200000), std::string(200000, '['), "[\"\\\"\"," + nested(256) + "]"})
    EXPECT_THAT(parse_json(text, "x"),
                testing_support::FailsWith(ErrorKind::invalid, "x is nested more than 256 deep"));
  EXPECT_THAT(parse_json("\"" + std::string(1000, '[') + "\\\"" + std::string(1000, '{') + "\"", "x"),
              testing_support::Succeeds());
}

}  // namespace
}  // namespace pinstep
