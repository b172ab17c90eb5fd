// Who runs these tests must see this one fail: a runner that cannot see failures proves nothing.
#include <gtest/gtest.h>

TEST(Deliberate, FailsToProveThatFailuresAreSeen) { FAIL() << "as intended"; }
