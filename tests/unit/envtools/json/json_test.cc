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

}  // namespace
}  // namespace pinstep
