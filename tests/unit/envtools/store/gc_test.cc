#include "envtools/store/gc.h"

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

constexpr std::int64_t kDay = 86400;
constexpr std::int64_t kNow = 20000 * kDay;
constexpr uid_t kMe = 1000, kOther = 2000;
const std::string kToken = "fedcba9876543210", kOtherToken = "0000000000000001";

NotedUse submitted(std::int64_t days_ago, const std::string& token = kToken) {
  return {{"", Use::Kind::submit, token}, kNow - days_ago * kDay, kMe};
}
NotedUse job(std::uint32_t number, std::int64_t days_ago, const std::string& cluster = "big",
             uid_t owner = kMe) {
  return {{"", Use::Kind::job, kToken, number, cluster}, kNow - days_ago * kDay, owner};
}
NotedUse run(std::int64_t days_ago) {
  return {{.id16 = "", .kind = Use::Kind::run, .user = kMe}, kNow - days_ago * kDay, kMe};
}

GcCandidate candidate(std::vector<NotedUse> uses, std::int64_t built_days_ago = 100) {
  GcCandidate candidate;
  candidate.published.built = kNow - built_days_ago * kDay;
  candidate.published.bytes = 100;
  candidate.uses = std::move(uses);
  return candidate;
}

GcPolicy policy() {
  GcPolicy policy;
  policy.now = kNow;
  policy.user = kMe;
  return policy;
}

const KnownJobs kKnown{"big", {7}, true};

struct Case {
  const char* what;
  std::vector<NotedUse> uses;
  std::optional<KnownJobs> known;
  bool removed;
  const char* reason;
};

TEST(PlanGc, KeepsWhatSomebodyNeeds) {
  const KnownJobs hiding{"big", {7}, false};
  const Case cases[] = {
      {"never used", {}, kKnown, true, "last used 100 days ago"},
      {"used lately", {run(29)}, kKnown, false, "last used 29 days ago"},
      {"used today", {run(0)}, kKnown, false, "last used today"},
      {"in the future, by another clock", {run(-3)}, kKnown, false, "last used today"},
      {"used long ago", {run(30)}, kKnown, true, "last used 30 days ago"},
      {"a job that waits or runs", {job(7, 90)}, kKnown, false, "Slurm still has job 7"},
      {"a job that is over", {job(8, 90)}, kKnown, true, "last used 90 days ago"},
      {"of another cluster", {job(7, 59, "small")}, kKnown, false, "job 7 of small may not be over"},
      {"of another cluster, long ago", {job(7, 60, "small")}, kKnown, true, "last used 60 days ago"},
      {"nobody to ask", {job(7, 59)}, {}, false, "job 7 of big may not be over"},
      {"another user's, who is not shown",
       {job(8, 59, "big", kOther)},
       hiding,
       false,
       "job 8 of big may not be over"},
      {"another user's", {job(8, 59, "big", kOther)}, kKnown, true, "last used 59 days ago"},
      {"one's own are always shown", {job(8, 59)}, hiding, true, "last used 59 days ago"},
      {"submitted, not started", {submitted(59)}, kKnown, false, "submitted 59 days ago, not started yet"},
      {"submitted, never started", {submitted(60)}, kKnown, true, "last used 60 days ago"},
      {"submitted, started, over", {submitted(59), job(8, 58)}, kKnown, true, "last used 58 days ago"},
      {"another submission of the same",
       {submitted(59, kOtherToken), job(8, 58)},
       kKnown,
       false,
       "submitted 59 days ago, not started yet"},
  };
  for (const Case& c : cases) {
    const auto verdicts = plan_gc({candidate(c.uses)}, c.known, policy());
    ASSERT_EQ(verdicts.size(), 1U);
    EXPECT_EQ(verdicts[0].removed, c.removed) << c.what;
    EXPECT_EQ(verdicts[0].reason, c.reason) << c.what;
  }
}

TEST(PlanGc, KeepsWhatHasATagHoweverOld) {
  GcCandidate tagged = candidate({});
  tagged.tags = {"train"};
  GcPolicy strict = policy();
  strict.keep = Days(0);
  strict.most_bytes = 0;
  const auto verdicts = plan_gc({tagged}, kKnown, strict);
  EXPECT_FALSE(verdicts[0].removed);
  EXPECT_EQ(verdicts[0].reason, "tag train");
}

TEST(PlanGc, RemovesWhatWasUsedLongestAgoUntilTheRestFits) {
  struct SizeCase {
    std::uint64_t most;
    std::vector<bool> removed;
  };
  // Of 100 bytes each: used 3, 1 and 2 days ago, and one that a job needs.
  const std::vector<GcCandidate> candidates{candidate({run(3)}), candidate({run(1)}), candidate({run(2)}),
                                            candidate({job(7, 20)})};
  for (const SizeCase& c :
       {SizeCase{400, {false, false, false, false}}, SizeCase{399, {true, false, false, false}},
        SizeCase{300, {true, false, false, false}}, SizeCase{200, {true, false, true, false}},
        SizeCase{100, {true, true, true, false}}, SizeCase{0, {true, true, true, false}}}) {
    GcPolicy small = policy();
    small.most_bytes = c.most;
    const auto verdicts = plan_gc(candidates, kKnown, small);
    std::vector<bool> removed;
    for (const GcVerdict& verdict : verdicts) removed.push_back(verdict.removed);
    EXPECT_EQ(removed, c.removed) << c.most;
  }
}

TEST(PlanGc, AsksSlurmOnlyWhereThereAreJobs) {
  EXPECT_FALSE(has_jobs({candidate({submitted(1), run(1)}), candidate({})}));
  EXPECT_TRUE(has_jobs({candidate({}), candidate({job(1, 1)})}));
}

}  // namespace
}  // namespace pinstep
