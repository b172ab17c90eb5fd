#include <gmock/gmock.h>

#include <random>

#include "launcher/worker/report/run_summary.h"
#include "launcher/worker/report/svg.h"
#include "launcher/worker/report/text.h"

namespace pinstep::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

// Two epochs of ten steps of 100 ms; `own` milliseconds of them are this rank's.
std::string log_of(std::uint32_t rank, std::uint32_t ranks, int own) {
  std::string text = dump_json({{"event", "start"},
                                {"rank", rank},
                                {"ranks", ranks},
                                {"node", "n" + std::to_string(rank / 2)},
                                {"model", "mlp"},
                                {"parameters", 1000}}) +
                     "\n";
  for (int step = 1; step <= 20; ++step)
    text += dump_json({{"event", "step"},
                       {"epoch", step > 10 ? 2 : 1},
                       {"step", step},
                       {"samples", 8},
                       {"seconds", 0.1},
                       {"waited", 0.1 - own * 1e-3},
                       {"loss", 2.0 / step}}) +
            "\n";
  for (int epoch = 1; epoch <= 2; ++epoch)
    text += dump_json({{"event", "epoch"},
                       {"epoch", epoch},
                       {"loss", 1.0 / epoch},
                       {"test_loss", 1.5 / epoch},
                       {"accuracy", 0.5},
                       {"samples_per_second", 320.0}}) +
            "\n";
  return text + dump_json({{"event", "end"}, {"most_memory_bytes", 1000000 * (rank + 1)}}) + "\n";
}

RunLog run_of(const std::vector<int>& own) {
  RunLog run;
  for (std::uint32_t rank = 0; rank < own.size(); ++rank)
    add_log(run, rank, log_of(rank, static_cast<std::uint32_t>(own.size()), own[rank]));
  return run;
}

std::vector<std::uint32_t> stragglers(const std::vector<int>& own) {
  std::vector<std::uint32_t> found;
  for (const RankSummary& rank : summarize(run_of(own)).ranks)
    if (rank.is_straggler) found.push_back(rank.rank);
  return found;
}

TEST(RunSummary, AStragglerNeedsLongForItself) {
  EXPECT_THAT(stragglers({50, 50, 50, 70}), ElementsAre(3));
  EXPECT_THAT(stragglers({90, 50}), ElementsAre(0));
  EXPECT_THAT(stragglers({50, 59, 50, 55}), ElementsAre());
  EXPECT_THAT(stragglers({50}), ElementsAre());
  EXPECT_THAT(stragglers({30, 30, 90, 90, 30, 30}), ElementsAre(2, 3));
}

TEST(RunSummary, AddsUpOverRanks) {
  const RunSummary summary = summarize(run_of({50, 50, 50, 80}));
  EXPECT_EQ(summary.size, 4U);
  EXPECT_EQ(summary.nodes, 2U);
  EXPECT_EQ(summary.steps, 20U);
  EXPECT_NEAR(summary.samples_per_second, 4 * 8 / 0.1, 1e-6);
  EXPECT_NEAR(summary.waited_share, (50 + 50 + 50 + 20) / 400.0, 1e-9);
  EXPECT_EQ(summary.most_memory, 4000000U);
  EXPECT_EQ(summary.curve.size(), 20U);
  EXPECT_DOUBLE_EQ(summary.curve[3].loss, 0.5);
  EXPECT_EQ(summary.epoch_ends, std::vector<double>{10});
  EXPECT_TRUE(summary.unfinished.empty());
}

TEST(RunSummary, LongRunsHaveNoMorePointsThanAPicture) {
  RunLog run;
  for (std::uint64_t step = 1; step <= 100'001; ++step) run.ranks[0].steps[step] = {1, 4, 0.5, 0.1, 3};
  const RunSummary summary = summarize(run);
  EXPECT_LE(summary.curve.size(), 240U);
  for (const Point& point : summary.curve) {
    EXPECT_DOUBLE_EQ(point.loss, 3);
    EXPECT_DOUBLE_EQ(point.samples_per_second, 8);
  }
}

TEST(RunSummary, ARequeuedRunGoesOnInItsFile) {
  RunLog run;
  const std::string first = log_of(0, 1, 50);
  add_log(run, 0, first.substr(0, first.find("\"step\":8")));  // killed while it wrote
  add_log(run, 0, log_of(0, 1, 50));
  const RunSummary summary = summarize(run);
  EXPECT_EQ(summary.starts, 2U);
  EXPECT_EQ(summary.steps, 20U);
  EXPECT_EQ(summary.unreadable, 1U);
  EXPECT_TRUE(summary.unfinished.empty());
}

TEST(RunSummary, WhatIsMissingIsSaid) {
  RunLog run = run_of({50, 50, 50});
  run.ranks.erase(1);
  run.ranks[2].has_ended = false;
  run.ranks[2].error = "rank 1 is gone";
  const std::string text = text_of(summarize(run));
  EXPECT_THAT(text, HasSubstr("\nno log of 1 rank\n1 rank did not end well\nrank 2: rank 1 is gone\n"));
}

TEST(RunText, IsATable) {
  EXPECT_EQ(text_of(summarize(run_of({50, 80}))),
            "2 ranks on 1 node, mlp with 1000 parameters, 20 steps\n"
            "160 samples/s; ranks waited for each other 35.0 % of the time; most memory of a rank 2.0 MB\n"
            "\n"
            "epoch    loss  test loss  accuracy  samples/s\n"
            "    1  1.0000     1.5000    0.5000        320\n"
            "    2  0.5000     0.7500    0.5000        320\n"
            "\n"
            " rank  node              steps    own ms  95 % ms  waited ms\n"
            "    0  n0                   20     50.00    50.00      50.00\n"
            "    1  n0                   20     80.00    80.00      20.00  straggler, 1.60 times the others\n");
}

TEST(RunText, OfManyRanksTheSlowest) {
  std::vector<int> own(100, 50);
  own[77] = 90;
  const std::string text = text_of(summarize(run_of(own)));
  EXPECT_THAT(text, HasSubstr("the 32 slowest ranks\n"));
  EXPECT_LT(text.find("   77  n38"), text.find("    0  n0 "));
}

TEST(RunPicture, MarksStragglersByMoreThanColour) {
  const std::string svg = svg_of(summarize(run_of({50, 50, 80})));
  EXPECT_THAT(svg, HasSubstr("rank 2: 1.60 x"));
  EXPECT_THAT(svg, HasSubstr(">straggler<"));
  EXPECT_THAT(svg, HasSubstr("fill=\"url(#hatch)\""));
  const std::string without = svg_of(summarize(run_of({50, 50, 50})));
  EXPECT_THAT(without, Not(HasSubstr("straggler")));
  EXPECT_THAT(without, Not(HasSubstr("fill=\"url(#hatch)\"")));
}

TEST(RunPicture, IsFiniteWhateverTheRun) {
  RunLog one_step;
  one_step.ranks[0].steps[1] = {1, 1, 0, 0, 0};
  for (const RunLog& run : {RunLog(), one_step, run_of({0}), run_of(std::vector<int>(600, 10))}) {
    const std::string svg = svg_of(summarize(run));
    EXPECT_THAT(svg, Not(HasSubstr("nan")));
    EXPECT_THAT(svg, Not(HasSubstr("\"inf")));
  }
}

TEST(RunPicture, NamesOfOthersAreNoMarkup) {
  RunLog run;
  add_log(run, 0, R"({"event":"start","node":"<b>&","model":"<i>","ranks":1})");
  EXPECT_THAT(svg_of(summarize(run)),
              testing::AllOf(HasSubstr("&lt;i&gt;"), HasSubstr("&lt;b&gt;&amp;"), Not(HasSubstr("<b>"))));
}

TEST(RunLog, AnythingCanBeRead) {
  std::mt19937 random(1);
  const std::string good = log_of(0, 1, 50);
  for (int i = 0; i < 200; ++i) {
    std::string text = good;
    for (int change = 0; change < 20; ++change) text[random() % text.size()] = static_cast<char>(random());
    RunLog run;
    add_log(run, 0, text);
    svg_of(summarize(run));
    text_of(summarize(run));
  }
}

// A start of so many ranks at that time, and steps [first, last] of `own` milliseconds.
std::string part_of_log(std::uint32_t ranks, int time, int first, int last, double own) {
  std::string text = dump_json({{"event", "start"}, {"ranks", ranks}, {"node", "n"}, {"time", time}}) + "\n";
  for (int step = first; step <= last; ++step)
    text += dump_json({{"event", "step"},
                       {"step", step},
                       {"samples", 8},
                       {"seconds", own * 1e-3},
                       {"waited", 0},
                       {"loss", 1.0}}) +
            "\n";
  return text;
}

TEST(RunSummary, WhatFewerRanksDidLaterIsNotComparedWithWhatMoreDidBefore) {
  RunLog run;
  add_log(run, 0, part_of_log(2, 100, 1, 20, 50) + part_of_log(1, 200, 11, 40, 90));
  add_log(run, 1, part_of_log(2, 101, 1, 20, 50));
  const RunSummary summary = summarize(run);
  EXPECT_EQ(summary.size, 1U);
  EXPECT_EQ(summary.former, 1U);
  ASSERT_EQ(summary.ranks.size(), 1U);
  EXPECT_FALSE(summary.ranks[0].is_straggler);
  EXPECT_NEAR(summary.ranks[0].own, 0.09, 1e-9);
  // Ten steps of two ranks and thirty of one: what was done again counts once.
  EXPECT_EQ(summary.steps, 40U);
  EXPECT_NEAR(summary.samples_per_second, (10 * 16 + 30 * 8) / (10 * 0.05 + 30 * 0.09), 1e-6);
  EXPECT_TRUE(summary.unfinished == std::vector<std::uint32_t>{0});
  EXPECT_THAT(text_of(summary), HasSubstr("\n1 log of an earlier run with more ranks left out\n"));
}

TEST(RunSummary, NorWhatMoreRanksDoWithWhatFewerDid) {
  RunLog run;
  add_log(run, 0, part_of_log(1, 100, 1, 20, 90) + part_of_log(2, 200, 21, 30, 50));
  add_log(run, 1, part_of_log(2, 199, 21, 30, 50));
  const RunSummary summary = summarize(run);
  EXPECT_EQ(summary.size, 2U);
  EXPECT_EQ(summary.former, 0U);
  for (const RankSummary& rank : summary.ranks) EXPECT_DOUBLE_EQ(rank.factor, 1);
}

TEST(RunText, ALossThatIsNoNumberIsShownAsNone) {
  RunLog run;
  add_log(
      run, 0,
      part_of_log(1, 1, 1, 3, 5) +
          R"({"event":"step","step":4,"samples":8,"seconds":0.1,"waited":0,"loss":null})"
          "\n"
          R"({"event":"epoch","epoch":1,"loss":null,"test_loss":null,"accuracy":0.1,"samples_per_second":9})");
  const RunSummary summary = summarize(run);
  EXPECT_THAT(text_of(summary), HasSubstr("    1     nan        nan    0.1000          9\n"));
  EXPECT_THAT(dump_json(json_of(summary)), HasSubstr(R"("loss":null,"test_loss":null,"accuracy":0.1)"));
  const std::string svg = svg_of(summary);
  EXPECT_THAT(svg, HasSubstr("no number from about step 4 on"));
  EXPECT_THAT(svg, Not(HasSubstr("nan")));
}

TEST(RunLog, NumbersThatNoRunHasAreHarmless) {
  const std::vector<std::string> values{"1e308", "-1e308", "1e-310", "-1e-310", "3e38", "1e-37",
                                        "-1",    "0",      "1e999",  "null",    "\"\"", "18446744073709551615"};
  for (const char* key : {"step", "epoch", "samples", "seconds", "waited", "loss"})
    for (const std::string& value : values) {
      std::string text = R"({"event":"start","ranks":1})";
      for (int step = 1; step <= 3; ++step) {
        std::string line =
            R"({"event":"step","step":S,"epoch":1,"samples":8,"seconds":0.1,"waited":0,"loss":1})";
        line.replace(line.find('S', 10), 1, std::to_string(step));
        const std::size_t at = line.find(key, 16) + std::string_view(key).size() + 2;
        if (step > 1) line.replace(at, line.find_first_of(",}", at) - at, value);
        text += "\n" + line;
      }
      RunLog run;
      add_log(run, 0, text);
      const RunSummary summary = summarize(run);
      EXPECT_THAT(svg_of(summary), Not(testing::AnyOf(HasSubstr("nan"), HasSubstr("inf")))) << text;
      EXPECT_THAT(text_of(summary), HasSubstr("1 rank on 1 node")) << text;
    }
}

TEST(Ticks, AreRoundAndCoverTheRange) {
  EXPECT_THAT(ticks(0, 10, 5), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(ticks(0, 0.7, 5),
              ElementsAre(0, 0.2, testing::DoubleEq(0.4), testing::DoubleEq(0.6), testing::DoubleEq(0.8)));
  EXPECT_THAT(ticks(1, 3, 10), testing::SizeIs(11));
  EXPECT_THAT(ticks(0, 1234567, 5), ElementsAre(0, 500000, 1000000, 1500000));
}

}  // namespace
}  // namespace pinstep::worker
