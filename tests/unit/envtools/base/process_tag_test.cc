#include "envtools/base/process_tag.h"

#include <unistd.h>

#include "tests/unit/support/child.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

TEST(ProcessTag, TellsAProcessThatIsGoneFromOneThatLives) {
  const auto child = testing_support::in_child([] {
    const std::string tag = process_tag();
    return ::write(STDOUT_FILENO, tag.data(), tag.size()) > 0 && !is_gone(tag) ? 0 : 1;
  });
  ASSERT_EQ(child.exit_code, 0);
  EXPECT_TRUE(is_gone(child.output)) << child.output;
  EXPECT_FALSE(is_gone(process_tag()));
}

TEST(ProcessTag, KnowsNothingOfOtherMachinesAndOtherTexts) {
  for (const char* tag : {"", "-", "0123456789abcdef-1", "0123456789abcdef-4000000", "-4000000", "x"})
    EXPECT_FALSE(is_gone(tag)) << tag;
  const std::string home = process_tag().substr(0, 17);
  EXPECT_FALSE(is_gone(home));
  EXPECT_FALSE(is_gone(home + "0"));
  EXPECT_FALSE(is_gone(home + "-5"));
}

}  // namespace
}  // namespace pinstep
