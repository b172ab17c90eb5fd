#include "launcher/worker/cli/bench_output.h"

#include <gtest/gtest.h>

namespace pinstep::worker {
namespace {

const Exchanged kExchanged{Operation::all_reduce, 4, 1'000'000, 20, 0.001, 3};

Overlap overlap() {
  Overlap overlap;
  overlap.ranks = 2;
  overlap.gradient_bytes = 40'000'000;
  overlap.buckets = 3;
  overlap.single_seconds = 0.2;
  overlap.overlapped_seconds = 0.15;
  overlap.reduce_seconds = 0.06;
  overlap.ratio = {0.75, 0.5, 1.25};
  overlap.noise = {1, 0.75, 1.25};
  return overlap;
}

TEST(BenchOutput, RowsForPeople) {
  EXPECT_EQ(head_of_exchanges(Form::text) + line_of(kExchanged, Form::text),
            "\n"
            "operation          bytes  iterations          us  algorithm GB/s    bus GB/s  wrong\n"
            "all-reduce       1000000          20        1000            1.00        1.50      3\n");
  EXPECT_EQ(line_of(Exchanged{Operation::all_gather, 4, 8, 5000, 0.0000123, 0}, Form::text),
            "all-gather             8        5000        12.3        0.000650    0.000488      0\n");
  EXPECT_EQ(line_of(overlap(), Form::text),
            "\n"
            "overlap: 2 ranks, 40 MB of gradients, of which the all-reduce alone takes 60.00 ms\n"
            "  one all-reduce after the backward pass     200.00 ms a step\n"
            "   3 buckets, overlapped                     150.00 ms a step: 25.0 % less [-25.0, 50.0]\n"
            "  inconclusive: the same steps differ from themselves by [-25.0, 25.0] %\n");
  EXPECT_EQ(head_of_scaling(Form::text) + line_of(Scaling{2, 0.1, 0.02, 1500}, {1, 0.1, 0, 1000}, Form::text),
            "\n"
            "ranks  ms a step  ms waited  images/s  efficiency\n"
            "    2     100.00      20.00      1500      75.0 %\n");
}

TEST(BenchOutput, LinesForPrograms) {
  EXPECT_EQ(head_of_exchanges(Form::json) + line_of(kExchanged, Form::json),
            R"({"event":"exchange","operation":"all-reduce","ranks":4,"bytes":1000000,"iterations":20,)"
            R"("seconds":0.001,"algorithm_bandwidth":1000000000.0,"bus_bandwidth":1500000000.0,"wrong":3})"
            "\n");
  EXPECT_EQ(line_of(overlap(), Form::json),
            R"({"event":"overlap","ranks":2,"gradient_bytes":40000000,"buckets":3,"single_seconds":0.2,)"
            R"("overlapped_seconds":0.15,"reduce_seconds":0.06,"ratio":[0.75,0.5,1.25],)"
            R"("single_to_single":[1.0,0.75,1.25],"inconclusive":true})"
            "\n");
  EXPECT_EQ(line_of(Scaling{2, 0.5, 0.25, 1500}, {1, 0.5, 0, 1000}, Form::json),
            R"({"event":"scaling","ranks":2,"step_seconds":0.5,"waited_seconds":0.25,)"
            R"("samples_per_second":1500.0,"efficiency":0.75})"
            "\n");
}

}  // namespace
}  // namespace pinstep::worker
