#include "launcher/bind/bind.h"

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

TEST(Bind, ToOneOfTheProcessorsThereAre) {
  const Bits before = affinity();
  ASSERT_FALSE(before.empty());
  const Bits one{before.numbers().back()};
  ASSERT_TRUE(bind_to(one));
  EXPECT_EQ(affinity(), one);
  ASSERT_TRUE(bind_to(before));
  EXPECT_EQ(affinity(), before);
}

TEST(Bind, ToNoneOfThemFails) {
  const auto bound = bind_to(Bits{8191});
  ASSERT_FALSE(bound);
  EXPECT_EQ(bound.error().kind, ErrorKind::os);
  EXPECT_FALSE(bind_to({}));
}

TEST(Bind, ToAMemoryNodeThatCannotBeFails) { EXPECT_FALSE(prefer_memory_of(5000)); }

}  // namespace
}  // namespace pinstep
