#include "launcher/worker/cli/check_options.h"

#include "launcher/worker/cli/check_output.h"
#include "tests/unit/support/results.h"

namespace pinstep::worker {
namespace {

using testing_support::FailsWith;
using testing_support::Succeeds;

TEST(CheckOptions, AreRead) {
  const auto options =
      parse_check_options({"--timeout=5", "--max-skew=0.5", "--min-bandwidth=1.5G", "--max-latency", "0.25",
                           "--min-memory=2G", "--min-shm=64M", "--store=pmix", "--json"});
  ASSERT_THAT(options, Succeeds());
  EXPECT_EQ(options->time, Milliseconds(5000));
  EXPECT_EQ(options->limits.skew, 0.5);
  EXPECT_EQ(options->limits.bandwidth, 1.5e9);
  EXPECT_EQ(options->limits.latency, 0.25);
  EXPECT_EQ(options->limits.memory, 2UL << 30);
  EXPECT_EQ(options->limits.shm, 64UL << 20);
  EXPECT_EQ(options->store, StoreKind::pmix);
  EXPECT_TRUE(options->json);
  EXPECT_THAT(parse_check_options({"train"}),
              FailsWith(ErrorKind::usage, "'train' is no option", "--help lists the options"));
}

TEST(CheckOutput, TheVerdictIsOneLine) {
  EXPECT_EQ(
      line_of_verdict({4, 2, 2, 25e-6, 1.5e9, 0.001}, {}, Form::text),
      "fit: 4 ranks on 2 nodes, latency up to 25.0 us, bandwidth from 1.50 GB/s, clocks within 1.00 ms\n");
  EXPECT_EQ(line_of_verdict({1, 1, 0, 0, 0, 0}, {}, Form::text), "fit: 1 rank on 1 node\n");
  EXPECT_EQ(line_of_verdict({}, {{"clock", "the clock is slow", "x"}}, Form::text),
            "not fit: the clock is slow\n");
  EXPECT_EQ(line_of_verdict({}, {{"clock", "a", "x"}, {"shm", "b", "y"}}, Form::text),
            "not fit: a, and more\n");
  EXPECT_EQ(line_of_verdict({4, 2, 2, 0.5, 2, 0.25}, {}, Form::json),
            R"({"event":"verdict","fit":true,"findings":0,"ranks":4,"nodes":2,"links":2,"most_latency":0.5,)"
            R"("least_bandwidth":2.0,"most_skew":0.25})"
            "\n");
}

TEST(CheckOutput, AFindingHasItsHint) {
  EXPECT_EQ(line_of(Finding{"shm", "n1 has none", "make some"}, Form::text),
            "pinstep-worker: check: n1 has none\npinstep-worker: hint: make some\n");
  EXPECT_EQ(line_of(Finding{"shm", "n1 has none", "make some"}, Form::json),
            R"({"event":"finding","kind":"shm","text":"n1 has none","hint":"make some"})"
            "\n");
}

}  // namespace
}  // namespace pinstep::worker
