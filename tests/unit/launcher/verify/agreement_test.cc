#include "launcher/verify/agreement.h"

#include <algorithm>

#include "envtools/json/json.h"
#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep::verify {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::FailsWith;
using testing_support::Holds;
using testing_support::Random;

// Two ranks on each of `nodes`, all alike.
std::vector<RankReport> step_on(const std::vector<std::string>& nodes) {
  std::vector<RankReport> reports;
  for (const std::string& node : nodes)
    for (int i = 0; i < 2; ++i) {
      const auto rank = static_cast<std::uint32_t>(reports.size());
      reports.push_back({rank,
                         2,
                         node,
                         {{"driver", "535.104.05"}, {"kernel", "6.1.0"}, {"map", "0badcafe"}},
                         {"GPU-" + std::to_string(rank)}});
    }
  return reports;
}

void set_on(std::vector<RankReport>& reports, const std::string& node, const std::string& fact,
            const std::string& value) {
  for (RankReport& report : reports)
    if (report.node == node) report.facts[fact] = value;
}

std::vector<std::string> problems_of(const std::vector<RankReport>& reports) {
  return problems(compare(reports, static_cast<std::uint32_t>(reports.size()), {}));
}

TEST(RankReport, TravelsAsItIs) {
  Random random;
  const auto text = [&] { return random.one_in(4) ? "-" : random.bytes(0, 12); };
  for (int i = 0; i < 2000; ++i) {
    RankReport report;
    report.rank = static_cast<std::uint32_t>(random.below(1000));
    report.local_size = static_cast<std::uint32_t>(random.below(20));
    report.node = text();
    for (std::size_t n = random.below(4); n > 0; --n) report.facts[text()] = text();
    for (std::size_t n = random.below(4); n > 0; --n) report.gpus.push_back(text());
    EXPECT_THAT(RankReport::parse(report.text()), Holds(report));
  }
}

TEST(RankReport, WhatIsNoReportIsRefused) {
  for (const char* text :
       {"", "rank", "rank x\n", "node n1\n", "rank 1\nrank\n", "rank 1\nfact a\n", "rank 1\nfact a b c\n",
        "rank 1\nmore 2\n", "rank 1\nnode %zz\n", "rank 1\n\n", "rank 1 2\n", "rank 4294967296\n"})
    EXPECT_THAT(RankReport::parse(text), FailsWith(ErrorKind::corrupt, "a rank's report cannot be understood"))
        << text;
}

TEST(Agreement, NodesThatAreAlikeAgree) {
  const auto reports = step_on({"n1", "n2", "n3"});
  const Findings findings = compare(reports, 6, {"n1", "n2", "n3"});
  EXPECT_TRUE(findings.all_well());
  EXPECT_THAT(problems(findings), IsEmpty());
  EXPECT_EQ(show(findings),
            "6 ranks on 3 nodes\n"
            "  pinstep      -\n"
            "  plugin       -\n"
            "  environment  -\n"
            "  kernel       6.1.0\n"
            "  driver       535.104.05\n"
            "  nccl         -\n"
            "  gpus         -\n"
            "  nics         -\n"
            "  map          0badcafe\n"
            "all agree\n");
}

TEST(Agreement, TheOddNodeIsNamed) {
  auto reports = step_on({"n1", "n2", "n3", "n4"});
  set_on(reports, "n3", "driver", "550.54.14");
  const Findings findings = compare(reports, 8, {});
  EXPECT_FALSE(findings.all_well());
  EXPECT_THAT(problems(findings), ElementsAre("n3: driver is 550.54.14, and 535.104.05 on the other 3 nodes"));
  EXPECT_THAT(show(findings), HasSubstr("  driver       535.104.05 (n1, n2, n4), 550.54.14 (n3)\n"));
  EXPECT_THAT(show(findings), HasSubstr("problem: n3: driver is"));
}

TEST(Agreement, WhatOneNodeLacksIsADifference) {
  auto reports = step_on({"n1", "n2", "n3"});
  for (RankReport& report : reports)
    if (report.node == "n1") report.facts.erase("driver");
  EXPECT_THAT(problems_of(reports), ElementsAre("n1: driver is -, and 535.104.05 on the other 2 nodes"));
}

TEST(Agreement, WithoutAMajorityAllAreNamed) {
  auto reports = step_on({"n1", "n2"});
  set_on(reports, "n2", "driver", "550.54.14");
  EXPECT_THAT(problems_of(reports), ElementsAre("driver differs: 535.104.05 on n1; 550.54.14 on n2"));
  reports = step_on({"n1", "n2", "n3", "n4"});
  set_on(reports, "n3", "driver", "1.2");
  set_on(reports, "n4", "driver", "1.3");
  EXPECT_THAT(problems_of(reports), ElementsAre("driver differs: 535.104.05 on n1, n2; 1.2 on n3; 1.3 on n4"));
}

TEST(Agreement, RanksOfANodeThatDifferAreNamed) {
  auto reports = step_on({"n1"});
  reports[1].facts["environment"] = "abcd";
  EXPECT_THAT(problems_of(reports), ElementsAre("n1: its ranks differ in environment: - | abcd"));
  reports = step_on({"n1", "n2", "n3"});
  reports[5].facts["kernel"] = "6.2.0";
  EXPECT_THAT(problems_of(reports), ElementsAre("n3: its ranks differ in kernel: 6.1.0 | 6.2.0",
                                                "n3: kernel is 6.1.0 | 6.2.0, and 6.1.0 on the other 2 nodes"));
}

TEST(Agreement, MapsAreComparedWhereRanksAreAsMany) {
  auto reports = step_on({"n1", "n2", "n3"});
  reports.push_back(
      {6, 1, "n4", {{"driver", "535.104.05"}, {"kernel", "6.1.0"}, {"map", "12345678"}, {"gpus", "1"}}, {}});
  const Findings findings = compare(reports, 7, {});
  EXPECT_TRUE(findings.all_well());
  EXPECT_THAT(show(findings), HasSubstr("  kernel           6.1.0\n"));
  EXPECT_THAT(show(findings), HasSubstr("  gpus of 1 rank   1\n  gpus of 2 ranks  -\n"));
  set_on(reports, "n2", "map", "fedcba98");
  EXPECT_THAT(problems_of(reports),
              ElementsAre("n2: map of 2 ranks is fedcba98, and 0badcafe on the other 2 nodes"));
}

TEST(Agreement, AGpuThatRanksShareIsNamed) {
  auto reports = step_on({"n1", "n2"});
  reports[1].gpus = {"GPU-0"};
  reports[3].gpus = {"GPU-7", "GPU-2"};
  EXPECT_THAT(problems_of(reports), ElementsAre("ranks 0-1 on n1 have the same GPU GPU-0",
                                                "ranks 2-3 on n2 have the same GPU GPU-2"));
  reports = step_on({"n1", "n2"});
  reports[3].gpus = {"GPU-0"};
  EXPECT_THAT(problems_of(reports), ElementsAre("ranks 0,3 on n1, n2 have the same GPU GPU-0"));
}

TEST(Agreement, WhoDidNotReportIsNamed) {
  auto reports = step_on({"n1", "n2"});
  reports.erase(reports.begin() + 1);
  const Findings findings = compare(reports, 7, {"n1", "n2", "n3", "n4"});
  EXPECT_FALSE(findings.all_well());
  EXPECT_THAT(problems(findings), ElementsAre("no report from ranks 1,4-6; none at all from n3, n4"));
  EXPECT_THAT(problems(compare(step_on({"n1"}), 3, {"n1"})), ElementsAre("no report from rank 2"));
}

TEST(Agreement, ManyNodesAreCounted) {
  std::vector<std::string> nodes;
  for (int i = 0; i < 40; ++i) nodes.push_back("n" + std::to_string(100 + i));
  auto reports = step_on(nodes);
  for (int i = 0; i < 12; ++i) set_on(reports, nodes[static_cast<std::size_t>(i)], "driver", "1.2");
  EXPECT_THAT(problems_of(reports),
              ElementsAre("n100, n101, n102, n103, n104, n105, n106, n107 and 4 more: driver is 1.2, and "
                          "535.104.05 on the other 28 nodes"));
}

TEST(Agreement, NothingATerminalWouldObeyIsPrinted) {
  auto reports = step_on({"n1", "n2"});
  set_on(reports, "n2", "driver", "\x1b[2J");
  reports[3].gpus = {"\x1b[2J"};
  reports[2].gpus = {"\x1b[2J"};
  EXPECT_EQ(show(compare(reports, 4, {"\x1b"})).find('\x1b'), std::string::npos);
}

TEST(Agreement, JsonSaysTheSame) {
  auto reports = step_on({"n1", "n2", "n3"});
  set_on(reports, "n3", "driver", "550.54.14");
  reports[1].gpus = {"GPU-0"};
  const auto object = parse_json(json(compare(reports, 8, {"n1", "n2", "n3", "n4"})), "the output");
  ASSERT_TRUE(object);
  EXPECT_EQ((*object)["ok"], false);
  EXPECT_EQ((*object)["ranks"], 8);
  EXPECT_EQ((*object)["nodes"], Json::parse(R"(["n1", "n2", "n3"])"));
  EXPECT_EQ((*object)["facts"].size(), kFacts.size());
  EXPECT_EQ((*object)["facts"][4], Json::parse(R"({"fact": "driver", "values": [
      {"value": "535.104.05", "nodes": ["n1", "n2"]}, {"value": "550.54.14", "nodes": ["n3"]}],
      "mixed_nodes": []})"));
  EXPECT_EQ((*object)["shared_gpus"], Json::parse(R"([{"uuid": "GPU-0", "ranks": [0, 1], "nodes": ["n1"]}])"));
  EXPECT_EQ((*object)["missing_ranks"], Json::parse("[6, 7]"));
  EXPECT_EQ((*object)["silent_nodes"], Json::parse(R"(["n4"])"));
  EXPECT_EQ((*object)["problems"].size(), 3u);
}

// Whoever reports first, and however many nodes are odd: the same findings, with every odd node named.
TEST(Agreement, FindingsDoNotDependOnTheOrderOfReports) {
  Random random;
  for (int i = 0; i < 300; ++i) {
    std::vector<std::string> nodes;
    for (std::size_t n = 1 + random.below(7); n > 0; --n) nodes.push_back("n" + std::to_string(n));
    auto reports = step_on(nodes);
    for (RankReport& report : reports)
      if (random.one_in(5)) report.facts["driver"] = std::to_string(random.below(3)) + ".0";
    const Findings findings = compare(reports, static_cast<std::uint32_t>(reports.size()), nodes);
    const std::string shown = show(findings);
    for (std::size_t n = reports.size(); n > 1; --n) std::swap(reports[n - 1], reports[random.below(n)]);
    EXPECT_EQ(show(compare(reports, static_cast<std::uint32_t>(reports.size()), nodes)), shown);
    EXPECT_EQ(findings.all_well(), problems(findings).empty());
    const bool differ = std::any_of(reports.begin(), reports.end(), [&](const RankReport& report) {
      return report.facts.at("driver") != reports.front().facts.at("driver");
    });
    EXPECT_EQ(findings.all_well(), !differ);
  }
}

}  // namespace
}  // namespace pinstep::verify
