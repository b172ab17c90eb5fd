#include "launcher/worker/check/judge.h"

#include <gmock/gmock.h>

namespace pinstep::worker {

void PrintTo(const Finding& finding, std::ostream* out) {
  *out << finding.kind << ": \"" << finding.text << "\" hint \"" << finding.hint << '"';
}

namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::Field;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

auto finds(const char* kind, const std::string& text) {
  return AllOf(Field(&Finding::kind, kind), Field(&Finding::text, text), Field(&Finding::hint, Not(IsEmpty())));
}

// Nodes n0, n1 … with so many ranks each, of which the first measures its way to those of the others.
Gathered healthy(std::uint32_t nodes, std::uint32_t per_node = 1) {
  Gathered gathered{nodes * per_node, "10.0.0.1:29500", {}, {}};
  for (std::uint32_t node = 0; node < nodes; ++node) {
    gathered.nodes.push_back("n" + std::to_string(node));
    for (std::uint32_t local = 0; local < per_node; ++local) {
      RankReport report{node * per_node + local, per_node, gathered.nodes.back(), {}, Skew{0.001, 0.0001}, {}};
      report.facts = {"4 x G", "570.1", "2.28.9", "env-1", "0.2.0", 8UL << 30, 1UL << 30, 1024};
      for (std::uint32_t other = 0; other < nodes && local == 0; ++other)
        if (other != node) report.links.push_back({other * per_node, "", 20e-6, 1e9});
      gathered.ranks.push_back(report);
    }
  }
  return gathered;
}

Link& link(Gathered& gathered, std::uint32_t from, std::uint32_t to) {
  for (Link& link : gathered.ranks[from]->links)
    if (link.to == to) return link;
  throw std::out_of_range("no such link");
}

std::vector<Finding> judged(const Gathered& gathered) { return judge(gathered, {}); }

TEST(Judge, NothingIsWrongWithAHealthyAllocation) {
  for (const std::uint32_t nodes : {1U, 2U, 3U, 8U}) EXPECT_THAT(judged(healthy(nodes, 2)), IsEmpty()) << nodes;
}

TEST(Judge, AFirewallOfTheMasterOrOfTheOthers) {
  auto gathered = healthy(3, 2);
  for (const std::uint32_t rank : {2U, 3U, 4U, 5U}) gathered.ranks[rank].reset();
  EXPECT_THAT(judged(gathered),
              ElementsAre(AllOf(finds("reach",
                                      "ranks 2, 3, 4, 5, of n1, n2, do not reach rank 0 at 10.0.0.1:29500; "
                                      "no other node does"),
                                Field(&Finding::hint, HasSubstr("a firewall on n0 ")))));
  gathered = healthy(3);
  gathered.ranks[2].reset();
  EXPECT_THAT(judged(gathered),
              ElementsAre(AllOf(finds("reach",
                                      "rank 2, of n2, does not reach rank 0 at 10.0.0.1:29500; "
                                      "1 other node does"),
                                Field(&Finding::hint, HasSubstr("a firewall on n2 ")))));
  gathered.nodes.clear();  // no Slurm: nobody knows where it should be
  EXPECT_THAT(judged(gathered), ElementsAre(finds("reach", "rank 2 does not reach rank 0 at 10.0.0.1:29500")));
}

TEST(Judge, AFirewallBetweenRanksIsOfTheNodeThatAllFailWith) {
  auto gathered = healthy(4);
  for (const std::uint32_t from : {0U, 1U, 3U}) link(gathered, from, 2).error = "timed out";
  EXPECT_THAT(judged(gathered), ElementsAre(finds("reach", "n2 accepts no connection of others: timed out")));
  gathered = healthy(4);
  for (const std::uint32_t to : {0U, 1U, 3U}) link(gathered, 2, to).error = "refused";
  EXPECT_THAT(judged(gathered), ElementsAre(finds("reach", "n2 can connect to no other: refused")));
  gathered = healthy(4);
  link(gathered, 1, 3).error = "no route";
  EXPECT_THAT(judged(gathered), ElementsAre(finds("reach", "n1 cannot connect to n3: no route")));
}

TEST(Judge, ASlowLinkAndASlowNode) {
  auto gathered = healthy(4);
  link(gathered, 1, 3).bandwidth = 0.2e9;
  EXPECT_THAT(judged(gathered), ElementsAre(finds("link",
                                                  "the link from n1 to n3 is slow: 200 MB/s, usual is "
                                                  "1.00 GB/s")));
  gathered = healthy(4);
  link(gathered, 3, 0).latency = 500e-6;
  EXPECT_THAT(judged(gathered),
              ElementsAre(finds("link", "the link from n3 to n0 is slow: latency 500 us, usual is 20.0 us")));
  gathered = healthy(3);  // what n1 sends goes slowly, and not what it gets
  link(gathered, 1, 0).bandwidth = link(gathered, 1, 2).bandwidth = 0.01e9;
  EXPECT_THAT(judged(gathered),
              ElementsAre(finds("link", "the link from n1 to n0 is slow: 10.0 MB/s, usual is 1.00 GB/s"),
                          finds("link", "the link from n1 to n2 is slow: 10.0 MB/s, usual is 1.00 GB/s")));
  for (const std::uint32_t nodes : {3U, 4U, 8U}) {
    gathered = healthy(nodes);
    for (std::uint32_t other = 0; other < nodes; ++other)
      if (other != 2) link(gathered, 2, other).bandwidth = link(gathered, other, 2).bandwidth = 0.1e9;
    EXPECT_THAT(judged(gathered),
                ElementsAre(finds("link", "all links of n2 are slow: 100 MB/s, others have 1.00 GB/s")));
  }
}

TEST(Judge, TwoNodesHaveNothingToCompareTheirLinkWithButALimit) {
  auto gathered = healthy(2);
  link(gathered, 0, 1) = {1, "", 5e-3, 0.1e9};
  EXPECT_THAT(judged(gathered), IsEmpty());
  Limits limits;
  limits.bandwidth = 0.5e9;
  EXPECT_THAT(judge(gathered, limits),
              ElementsAre(finds("link", "the link from n0 to n1 is slow: 100 MB/s, the limit is 500 MB/s")));
  limits.bandwidth = 0;
  limits.latency = 1e-3;
  EXPECT_THAT(judge(gathered, limits), ElementsAre(finds("link",
                                                         "the link from n0 to n1 is slow: latency 5.00 ms, "
                                                         "the limit is 1.00 ms")));
}

TEST(Judge, ClocksThatDiffer) {
  auto gathered = healthy(2, 2);
  gathered.ranks[3]->skew = Skew{-3600, 0.001};
  EXPECT_THAT(judged(gathered),
              ElementsAre(finds("clock", "the clock of rank 3 on n1 is 3600 s behind rank 0's on n0")));
  gathered.ranks[3]->skew = Skew{1.5, 0.6};  // perhaps 0.9
  EXPECT_THAT(judged(gathered), IsEmpty());
  gathered.ranks[3]->skew = Skew{1.5, 0.1};
  EXPECT_THAT(judged(gathered),
              ElementsAre(finds("clock", "the clock of rank 3 on n1 is 1.50 s ahead of rank 0's on n0")));
}

TEST(Judge, WhatMustBeEqualIsComparedWithMost) {
  auto gathered = healthy(3);
  gathered.ranks[0]->facts.environment = "env-2";
  gathered.ranks[1]->facts.gpus = "3 x G";
  gathered.ranks[2]->facts.nccl = "";
  gathered.ranks[2]->facts.driver = "535.1";
  gathered.ranks[1]->facts.version = "0.1.0";
  EXPECT_THAT(judged(gathered),
              ElementsAre(finds("equal", "GPUs of rank 1 on n1: 3 x G, others have 4 x G"),
                          finds("equal", "GPU driver of rank 2 on n2: 535.1, others have 570.1"),
                          finds("equal", "NCCL of rank 2 on n2: none, others have 2.28.9"),
                          finds("equal", "environment of rank 0 on n0: env-2, others have env-1"),
                          finds("equal", "pinstep-worker of rank 1 on n1: 0.1.0, others have 0.2.0")));
}

TEST(Judge, WhatMustBeEnough) {
  auto gathered = healthy(2, 4);
  for (std::uint32_t rank = 4; rank < 8; ++rank) {
    gathered.ranks[rank]->facts.memory = 1000 << 20;  // 250 MiB for each
    gathered.ranks[rank]->facts.shm = 64 << 20;
    gathered.ranks[rank]->facts.open_files = 100;
  }
  EXPECT_THAT(
      judged(gathered),
      ElementsAre(finds("memory", "n1 has 1000 MiB of memory left for 4 ranks, the limit is 256 MiB for each"),
                  finds("shm", "n1 has 64.0 MiB left in /dev/shm, the limit is 128 MiB"),
                  finds("files", "n1 allows 100 open files, 8 ranks need 144")));
}

TEST(Judge, ASummaryHasTheWorst) {
  auto gathered = healthy(3, 2);
  link(gathered, 2, 4).bandwidth = 0.7e9;
  link(gathered, 0, 2).latency = 30e-6;
  gathered.ranks[5]->skew = Skew{-0.5, 0};
  const Summary summary = summarize(gathered);
  EXPECT_EQ(summary.ranks, 6U);
  EXPECT_EQ(summary.nodes, 3U);
  EXPECT_EQ(summary.links, 6U);
  EXPECT_EQ(summary.most_latency, 30e-6);
  EXPECT_EQ(summary.least_bandwidth, 0.7e9);
  EXPECT_EQ(summary.most_skew, 0.5);
}

}  // namespace
}  // namespace pinstep::worker
