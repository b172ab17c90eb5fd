#include "envtools/spec/check.h"

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

// Found by the fuzz target match_spec: a scalar of several lines is one match spec.
TEST(CheckMatchSpec, ACauseIsOneLineWhateverTheSpecIs) {
  for (const std::string text : {"a=3\n1=*x", "a=3.1=*\nx", "\n", "a[\n", "fsspec[ht\ntp]", "a;\nb", "-e\n."}) {
    const auto problem = check_match_spec(text);
    if (!problem) continue;
    EXPECT_EQ((problem->cause + problem->hint).find('\n'), std::string::npos) << testing_support::shown(text);
  }
  EXPECT_EQ(check_match_spec("a=3\n1=*x")->cause,
            "'a=3?1=*x' means version 3?1 exactly, not 3?1.1; 'a=3?1.*=*x' means both");
}

}  // namespace
}  // namespace pinstep
