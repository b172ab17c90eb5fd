#include "launcher/worker/store/roll.h"

#include "tests/unit/support/results.h"

namespace pinstep::worker {
namespace {

using std::chrono::milliseconds;
using testing_support::FailsWith;
using testing_support::Succeeds;
using Ranks = std::vector<std::uint32_t>;

constexpr milliseconds kGrace{1000};

struct RollTest : testing::Test {
  RollTest() {
    for (std::uint32_t rank = 0; rank < 3; ++rank)
      EXPECT_THAT(roll.arrive(rank, "n" + std::to_string(rank / 2)), Succeeds());
  }
  void expect_verdict(Verdict::Kind kind, const Ranks& ranks, const std::string& text) {
    const auto verdict = roll.verdict(now);
    ASSERT_TRUE(verdict);
    EXPECT_EQ(verdict->kind, kind);
    EXPECT_EQ(verdict->ranks, ranks);
    EXPECT_EQ(verdict->text, text);
  }

  Roll roll{3, kGrace};
  Roll::Moment now{};
};

TEST_F(RollTest, WithoutTroubleThereIsNoVerdict) {
  EXPECT_FALSE(roll.verdict(now));
  EXPECT_FALSE(roll.due());
  for (std::uint32_t rank = 0; rank < 3; ++rank) {
    roll.leave(rank);
    roll.lose(rank);  // its connection ends afterwards
  }
  EXPECT_FALSE(roll.verdict(now));
  EXPECT_EQ(roll.present(), 0U);
}

TEST_F(RollTest, TheFirstRankThatIsGoneIsToBlame) {
  roll.lose(2);
  EXPECT_TRUE(roll.is_in_trouble());
  roll.lose(1);  // which gave up because of it
  roll.report(0, std::nullopt, now);
  expect_verdict(Verdict::Kind::gone, {2}, "rank 2 on n1 is gone");
}

TEST_F(RollTest, ALossAfterReportsIsTheirCause) {
  roll.report(0, std::nullopt, now);
  EXPECT_FALSE(roll.verdict(now));
  roll.lose(1);
  expect_verdict(Verdict::Kind::gone, {1}, "rank 1 on n0 is gone");
}

TEST_F(RollTest, AnErrorOfItsOwnIsToBlame) {
  roll.report(1, "no space", now);
  roll.report(2, "also no space", now);
  expect_verdict(Verdict::Kind::failed, {1}, "rank 1 on n0 has failed: no space");
}

TEST_F(RollTest, WhoDoesNotReportInTimeIsSilent) {
  roll.report(0, std::nullopt, now);
  now += kGrace - milliseconds(1);
  EXPECT_FALSE(roll.verdict(now));
  EXPECT_EQ(*roll.due(), now + milliseconds(1));
  now += milliseconds(1);
  expect_verdict(Verdict::Kind::silent, {1, 2}, "ranks 1 on n0, 2 on n1 do not answer");
  roll.report(1, std::nullopt, now);
  expect_verdict(Verdict::Kind::silent, {2}, "rank 2 on n1 does not answer");
}

TEST_F(RollTest, ARankThatReportedMayGoAndIsNotToBlame) {
  roll.report(0, std::nullopt, now);
  roll.lose(0);
  now += kGrace;
  expect_verdict(Verdict::Kind::silent, {1, 2}, "ranks 1 on n0, 2 on n1 do not answer");
}

TEST_F(RollTest, WhoIsHeardAndBehindTheOthersIsStuck) {
  roll.hear(0, 42, now);
  roll.report(0, std::nullopt, now);
  now += kGrace;
  roll.hear(1, 41, now);
  roll.hear(2, 42, now);  // waits with the others; its own deadline is later
  expect_verdict(Verdict::Kind::stuck, {1},
                 "rank 1 on n0 is alive and did not get to collective 42, only to 41");
}

TEST_F(RollTest, WhoWasHeardAndIsNoMoreIsSilent) {
  for (std::uint32_t rank = 0; rank < 3; ++rank) roll.hear(rank, 42, now);
  now += std::chrono::seconds(3);
  roll.report(0, std::nullopt, now);
  now += kGrace;
  roll.hear(1, 42, now);
  expect_verdict(Verdict::Kind::silent, {2}, "rank 2 on n1 does not answer");
}

TEST(Roll, WhereNoOtherNodeAnswersItsOwnIsCutOff) {
  struct Case {
    std::vector<const char*> nodes;
    Ranks reported;
    Verdict::Kind kind;
    Ranks ranks;
    const char* text;
  };
  using Kind = Verdict::Kind;
  const Case cases[] = {
      {{"a", "b", "c"},
       {0},
       Kind::cut_off,
       {0},
       "rank 0 on a is cut off the network: none of 2 other nodes answers"},
      {{"a", "a", "b", "c"},
       {0, 1},
       Kind::cut_off,
       {0, 1},
       "ranks 0 on a, 1 on a are cut off the network: none of 2 other nodes answers"},
      {{"a", "b", "c"}, {0, 1}, Kind::silent, {2}, "rank 2 on c does not answer"},
      {{"a", "a", "b", "c"}, {0}, Kind::silent, {1, 2, 3}, "ranks 1 on a, 2 on b, 3 on c do not answer"},
      {{"a", "b", "b"}, {0}, Kind::silent, {1, 2}, "ranks 1 on b, 2 on b do not answer"},
      {{"a", "a", "a"}, {0}, Kind::silent, {1, 2}, "ranks 1 on a, 2 on a do not answer"},
  };
  for (const Case& one : cases) {
    Roll roll(static_cast<std::uint32_t>(one.nodes.size()), kGrace);
    for (std::uint32_t rank = 0; rank < roll.size(); ++rank)
      ASSERT_THAT(roll.arrive(rank, one.nodes[rank]), Succeeds());
    const Roll::Moment now{};
    for (const std::uint32_t rank : one.reported) roll.report(rank, std::nullopt, now);
    const auto verdict = roll.verdict(now + kGrace);
    ASSERT_TRUE(verdict) << one.text;
    EXPECT_EQ(verdict->kind, one.kind) << one.text;
    EXPECT_EQ(verdict->ranks, one.ranks) << one.text;
    EXPECT_EQ(verdict->text, one.text);
  }
}

TEST_F(RollTest, WhoGotThereAndIsHeardIsNotToBlame) {
  roll.report(0, std::nullopt, now);
  now += kGrace;
  roll.hear(1, 42, now);
  roll.hear(2, 42, now);
  expect_verdict(Verdict::Kind::unknown, {}, "no rank is missing");
}

TEST_F(RollTest, WhereAllReportNobodyIsToBlame) {
  for (std::uint32_t rank = 0; rank < 3; ++rank) roll.report(rank, std::nullopt, now);
  expect_verdict(Verdict::Kind::unknown, {}, "no rank is missing");
}

TEST(Roll, RefusesRanksThatCannotBe) {
  Roll roll(2, kGrace);
  EXPECT_THAT(roll.arrive(1, "a"), Succeeds());
  EXPECT_THAT(roll.arrive(1, "b"), FailsWith(ErrorKind::conflict, "there are two with rank 1, on a and b"));
  EXPECT_THAT(roll.arrive(2, "b"), FailsWith(ErrorKind::conflict, "rank 2 among 2 ranks"));
  EXPECT_EQ(roll.missing(), Ranks{0});
}

TEST(Roll, NamesAFewOfManyRanks) {
  const Roll roll(100, kGrace);
  EXPECT_EQ(roll.name({5}), "rank 5");
  EXPECT_EQ(roll.name({0, 1, 2, 3, 4, 5, 6, 7, 8, 9}), "ranks 0, 1, 2, 3, 4, 5, 6, 7 and 2 more");
}

}  // namespace
}  // namespace pinstep::worker
