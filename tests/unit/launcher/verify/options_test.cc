#include "launcher/verify/options.h"

#include "tests/unit/support/results.h"

namespace pinstep::verify {
namespace {

using testing::ElementsAre;
using testing_support::FailsWith;

TEST(VerifyOptions, AreTakenAsGiven) {
  const auto options = parse_options(
      {"--map=0badcafe", "--gpus=8", "--nics=a,b", "--uuid=x", "--uuid=y", "--json", "--timeout=5"});
  ASSERT_TRUE(options);
  EXPECT_EQ(options->map, "0badcafe");
  EXPECT_EQ(options->gpus, "8");
  EXPECT_EQ(options->nics, "a,b");
  EXPECT_THAT(options->uuids, ElementsAre("x", "y"));
  EXPECT_TRUE(options->json);
  EXPECT_EQ(options->timeout.count(), 5);
  EXPECT_EQ(parse_options({"--timeout", "7"})->timeout.count(), 7);
  EXPECT_FALSE(parse_options({})->json);
}

TEST(VerifyOptions, AnythingElseIsRefused) {
  for (const char* word : {"train.py", "--jsn", "--json=1", "--", ""})
    EXPECT_THAT(
        parse_options({word}),
        FailsWith(ErrorKind::usage, "verify takes no '" + std::string(word) + "'", "pinstep-launch --help"));
  for (const char* word :
       {"--timeout", "--timeout=", "--timeout=0", "--timeout=-1", "--timeout=x", "--timeout=99999999"})
    EXPECT_THAT(parse_options({word}),
                FailsWith(ErrorKind::usage, "option '--timeout' needs a number of seconds"));
}

}  // namespace
}  // namespace pinstep::verify
