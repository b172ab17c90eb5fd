#include "launcher/worker/store/neighbours.h"

#include <algorithm>
#include <set>

#include "tests/unit/support/results.h"

namespace pinstep::worker {
namespace {

using Kind = Verdict::Kind;
using Ranks = std::vector<std::uint32_t>;
using std::chrono::milliseconds;

TEST(Ring, GoesFromNodeToNode) {
  struct Case {
    std::vector<std::string> nodes;
    Ranks ring;
  };
  const Case cases[] = {
      {{"a", "b", "c"}, {0, 1, 2}},
      {{"a", "a", "b", "b"}, {0, 2, 1, 3}},
      {{"a", "b", "a", "b"}, {0, 1, 2, 3}},
      {{"a", "a", "a", "b", "b", "b", "c", "c", "c"}, {0, 3, 6, 1, 4, 7, 2, 5, 8}},
      {{"a", "b", "b", "b"}, {0, 1, 2, 3}},
      {{"a", "a", "a"}, {0, 1, 2}},
      {{"a"}, {0}},
  };
  for (const Case& one : cases) EXPECT_EQ(ring_of(one.nodes), one.ring);
}

TEST(Neighbours, AreTheNextTwoAndTheTwoBefore) {
  const std::vector<std::string> five{"a", "b", "c", "d", "e"};
  EXPECT_EQ(neighbours_of(0, five).next, (Ranks{1, 2}));
  EXPECT_EQ(neighbours_of(0, five).previous, (Ranks{4, 3}));
  EXPECT_EQ(neighbours_of(4, five).next, (Ranks{0, 1}));
  EXPECT_EQ(neighbours_of(1, {"a", "b"}).next, Ranks{0});
  EXPECT_EQ(neighbours_of(0, {"a"}).next, Ranks{});
}

TEST(Neighbours, WhomOneConnectsToExpectsItAndIsOnAnotherNode) {
  for (const std::uint32_t nodes : {2U, 3U, 5U})
    for (const std::uint32_t each : {1U, 2U, 8U}) {
      std::vector<std::string> names;
      for (std::uint32_t rank = 0; rank < nodes * each; ++rank) names.push_back(std::to_string(rank / each));
      for (std::uint32_t rank = 0; rank < names.size(); ++rank) {
        const Ranks next = neighbours_of(rank, names).next;
        EXPECT_NE(names[next[0]], names[rank]);
        for (const std::uint32_t other : next) {
          const Ranks previous = neighbours_of(other, names).previous;
          EXPECT_EQ(std::count(previous.begin(), previous.end(), rank), 1);
        }
      }
    }
}

// What a neighbour is to the rank that asks: when it gave its last sign of life, and when the store answered
// it, in milliseconds after the store has fallen silent; nothing for never.
struct Seen {
  std::uint32_t rank;
  std::string node;
  std::optional<int> sign, answered;
};

struct SilenceCase {
  const char* name;
  Seat own;
  std::vector<Seen> seen;
  Kind kind;
  Ranks ranks;
  const char* text;
};

const SilenceCase kSilences[] = {
    {"TheHostIsSilentAndANeighbourIsHeard",
     {1, "n1"},
     {{2, "n2", 2900, -100}, {0, "n0", -50, -100}},
     Kind::silent,
     {0},
     "rank 0 on n0 does not answer, and its neighbour rank 2 on n2 is heard"},
    {"ANeighbourThatHasGivenUpWasHeardToo",
     {1, "n1"},
     {{2, "n2", 600, -100}},
     Kind::silent,
     {0},
     "rank 0 on n0 does not answer, and its neighbour rank 2 on n2 is heard"},
    {"ThisNodeIsCutOff",
     {1, "n1"},
     {{2, "n2", 150, -100}, {0, "n0", -50, -60}},
     Kind::cut_off,
     {1},
     "rank 1 on n1 is cut off the network: neither rank 0 on n0 nor rank 2 on n2 is heard"},
    {"OnlyTheWayToTheHostIsCut",
     {1, "n1"},
     {{2, "n2", 2900, 2800}, {0, "n0", -50, -60}},
     Kind::cut_off,
     {1},
     "rank 1 on n1 does not reach rank 0 on n0, and rank 2 on n2 does"},
    {"OfTwoNodesEitherMayBeCutOff",
     {2, "n1"},
     {{0, "n0", -50, -60}, {1, "n0", -50, -60}, {3, "n1", 2900, -100}},
     Kind::silent,
     {0},
     "rank 0 on n0 does not answer, and no third node is there to ask"},
    {"ARankBesideTheHostIsHeard",
     {2, "n1"},
     {{0, "n0", -50, -60}, {1, "n0", 2900, -100}, {3, "n1", 2900, -100}},
     Kind::silent,
     {0},
     "rank 0 on n0 does not answer, and its neighbour rank 1 on n0 is heard"},
    {"OneOfTheOwnNodeIsNoWitness",
     {3, "n1"},
     {{2, "n1", 2900, -100}, {4, "n2", 100, -100}},
     Kind::cut_off,
     {3},
     "rank 3 on n1 is cut off the network: neither rank 0 on n0 nor rank 4 on n2 is heard"},
    {"WhoNeverWasHeardSaysNothing",
     {1, "n1"},
     {{2, "n2", {}, {}}, {0, "n0", {}, {}}},
     Kind::silent,
     {0},
     "rank 0 on n0 does not answer, and no third node is there to ask"},
    {"OnTheHostsNodeTheNetworkIsNotAsked",
     {1, "n0"},
     {{2, "n2", 100, -100}, {3, "n3", 100, -100}},
     Kind::silent,
     {0},
     "rank 0 on n0 does not answer"},
};

class SilenceTest : public testing::TestWithParam<SilenceCase> {};
INSTANTIATE_TEST_SUITE_P(Each, SilenceTest, testing::ValuesIn(kSilences),
                         [](const auto& info) { return info.param.name; });

TEST_P(SilenceTest, IsJudged) {
  const SilenceCase& one = GetParam();
  const Roll::Moment since{std::chrono::hours(1)};
  const auto moment = [&](std::optional<int> after) {
    return after ? std::optional(since + milliseconds(*after)) : std::nullopt;
  };
  std::vector<Sight> sights;
  for (const Seen& seen : one.seen)
    sights.push_back({{seen.rank, seen.node}, moment(seen.sign), moment(seen.answered)});
  const Verdict verdict = judge_silence(one.own, {0, "n0"}, sights, since);
  EXPECT_EQ(verdict.kind, one.kind);
  EXPECT_EQ(verdict.ranks, one.ranks);
  EXPECT_EQ(verdict.text, one.text);
}

}  // namespace
}  // namespace pinstep::worker
