#include "launcher/worker/cli/bench_options.h"

#include "tests/unit/support/results.h"

namespace pinstep::worker {
namespace {

using testing_support::FailsWith;
using testing_support::Succeeds;

TEST(BenchOptions, EverythingIsMeasuredByDefault) {
  const auto options = parse_bench_options({});
  ASSERT_THAT(options, Succeeds());
  EXPECT_EQ(options->operations.size(), 4U);
  EXPECT_TRUE(options->overlap);
  EXPECT_TRUE(options->scaling);
  const auto sizes = sizes_of(*options);
  EXPECT_EQ(sizes.size(), 28U);
  EXPECT_EQ(sizes.front(), 8U);
  EXPECT_EQ(sizes.back(), 1U << 30);
}

TEST(BenchOptions, OrWhatIsNamed) {
  const auto options = parse_bench_options({"all-gather", "--min=100", "overlap", "--max", "1K", "--factor=3",
                                            "--iterations=5", "--hidden=20,30", "--batch=7"});
  ASSERT_THAT(options, Succeeds());
  EXPECT_EQ(options->operations, std::vector{Operation::all_gather});
  EXPECT_TRUE(options->overlap);
  EXPECT_FALSE(options->scaling);
  EXPECT_EQ(sizes_of(*options), (std::vector<std::size_t>{100, 300, 900}));
  EXPECT_EQ(options->effort.iterations, 5U);
  EXPECT_EQ(options->step.sizes, (std::vector<std::uint32_t>{784, 20, 30, 10}));
  EXPECT_EQ(options->step.batch, 7U);
}

TEST(BenchOptions, TellWhatIsWrong) {
  EXPECT_THAT(parse_bench_options({"reduce"}),
              FailsWith(ErrorKind::usage, "'reduce' is nothing that can be measured", "--help lists what can"));
  EXPECT_THAT(parse_bench_options({"--factor=1"}),
              FailsWith(ErrorKind::usage, "'--factor' wants a number from 2, not '1'", ""));
  EXPECT_THAT(parse_bench_options({"--max=4"}),
              FailsWith(ErrorKind::usage, "'--min' is more than '--max'", ""));
}

}  // namespace
}  // namespace pinstep::worker
