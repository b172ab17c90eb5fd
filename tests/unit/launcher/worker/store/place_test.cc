#include "launcher/worker/store/place.h"

#include "tests/unit/support/results.h"

namespace pinstep::worker {
namespace {

using testing_support::Succeeds;
using Variables = Environment::Variables;

const Variables kWhole{
    {"RANK", "3"},       {"WORLD_SIZE", "8"},       {"MASTER_ADDR", "10.0.0.1"}, {"MASTER_PORT", "29500"},
    {"LOCAL_RANK", "1"}, {"LOCAL_WORLD_SIZE", "2"}, {"SLURM_JOB_ID", "12"},      {"SLURM_STEP_ID", "0"}};

TEST(Place, IsReadFromTheVariablesOfTheRendezvous) {
  const auto place = place_from_environment(Environment(kWhole));
  ASSERT_THAT(place, Succeeds());
  EXPECT_EQ(place->rank, 3U);
  EXPECT_EQ(place->size, 8U);
  EXPECT_EQ(place->local_rank, 1U);
  EXPECT_EQ(place->local_size, 2U);
  EXPECT_EQ(place->cookie, "12.0");
  ASSERT_TRUE(place->meeting);
  EXPECT_EQ(place->meeting->hosts, std::vector<std::string>{"10.0.0.1"});
  EXPECT_EQ(place->meeting->port, 29500);
}

TEST(Place, WithoutVariablesItIsAlone) {
  const auto place = place_from_environment(Environment());
  ASSERT_THAT(place, Succeeds());
  EXPECT_EQ(place->size, 1U);
  EXPECT_FALSE(place->meeting);
  EXPECT_THAT(
      place_from_environment(Environment(Variables{{"SLURM_PROCID", "0"}, {"SLURM_STEP_NUM_TASKS", "1"}})),
      Succeeds());
}

TEST(Place, OfAHeterogeneousStepHasOneCookie) {
  Variables variables = kWhole;
  variables["SLURM_HET_JOB_ID"] = "11";
  EXPECT_EQ(cookie_of(Environment(variables)), "11.0");
  EXPECT_EQ(cookie_of(Environment()), "");
}

TEST(Place, TellsWhatIsMissingOrContradictory) {
  const struct {
    const char* name;
    const char* value;  // nullptr: not set
    const char* cause;
  } cases[] = {
      {"RANK", nullptr, "RANK is not set"},
      {"RANK", "x", "RANK='x' is no number"},
      {"RANK", "8", "RANK=8 contradicts WORLD_SIZE=8"},
      {"WORLD_SIZE", "", "WORLD_SIZE='' is no number"},
      {"LOCAL_RANK", "2", "LOCAL_RANK=2 contradicts LOCAL_WORLD_SIZE=2"},
      {"MASTER_ADDR", nullptr, "MASTER_ADDR is not set"},
      {"MASTER_PORT", "70000", "MASTER_PORT='70000' is no number"},
  };
  for (const auto& [name, value, cause] : cases) {
    Variables variables = kWhole;
    variables.erase(name);
    if (value != nullptr) variables[name] = value;
    const auto place = place_from_environment(Environment(variables));
    ASSERT_FALSE(place) << name;
    EXPECT_EQ(place.error().cause, cause);
  }
}

TEST(Place, OneOfSeveralTasksDoesNotBelieveThatItIsAlone) {
  const auto place =
      place_from_environment(Environment(Variables{{"SLURM_PROCID", "1"}, {"SLURM_STEP_NUM_TASKS", "4"}}));
  ASSERT_FALSE(place);
  EXPECT_EQ(place.error().cause, "one of several tasks, and RANK is not set");
  EXPECT_THAT(place.error().hint, testing::HasSubstr("srun pinstep-launch -- pinstep-worker train"));
}

TEST(Place, PmixIsPreferredWhereThereIsNothingElse) {
  EXPECT_TRUE(prefers_pmix(Environment(Variables{{"PMIX_NAMESPACE", "n"}})));
  EXPECT_FALSE(prefers_pmix(Environment(Variables{{"PMIX_NAMESPACE", "n"}, {"MASTER_ADDR", "a"}})));
  EXPECT_FALSE(prefers_pmix(Environment()));
}

}  // namespace
}  // namespace pinstep::worker
