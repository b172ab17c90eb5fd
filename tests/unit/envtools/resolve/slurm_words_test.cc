#include "envtools/resolve/slurm_words.h"

#include "envtools/base/text.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing_support::FailsWith;

std::vector<std::string> words(std::string_view text) {
  std::vector<std::string> list;
  if (text.empty()) return list;
  for (const std::string_view word : split(text, ' ')) list.emplace_back(word);
  return list;
}

std::string shown(const SlurmWords& split) {
  std::string text;
  for (const auto& [name, value] : split.ours) text += name + "=" + value + " ";
  text += "|";
  for (const std::string& word : split.slurms) text += " " + word;
  return text;
}

TEST(SplitSlurmWords, TakesOursBeforeTheProgramAndNothingBehindIt) {
  struct Case {
    const char* line;
    const char* expected;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"", "|"},
           {"train.sh", "| train.sh"},
           {"--env-spec=e.yml train.sh", "env-spec=e.yml | train.sh"},
           {"--env-spec e.yml train.sh", "env-spec=e.yml | train.sh"},
           {"-N2 --env-spec=e.yml -n 4 --time 5 --env-lock=frozen t.sh --env-spec=x",
            "env-spec=e.yml env-lock=frozen | -N2 -n 4 --time 5 t.sh --env-spec=x"},
           {"--exclusive python --env-spec=x", "| --exclusive python --env-spec=x"},
           {"-v python --env-spec=x", "| -v python --env-spec=x"},
           {"-W --env-spec=x t.sh", "env-spec=x | -W t.sh"},
           {"-W 10 --env-spec=x prog", "env-spec=x | -W 10 prog"},
           {"--env-gpu-share --env-spec=x -- --env-spec=y", "env-gpu-share= env-spec=x | -- --env-spec=y"},
           {"--wrap=hostname --env-spec=x", "env-spec=x | --wrap=hostname"},
           {"-n 1 p : --env-spec=x -n 1 q", "| -n 1 p : --env-spec=x -n 1 q"},
       }) {
    const auto split = split_slurm_words("srun", words(c.line));
    ASSERT_TRUE(split) << c.line;
    EXPECT_EQ(shown(*split), c.expected) << c.line;
  }
}

TEST(SplitSlurmWords, KnowsThatWaitingIsAFlagOfSbatchOnly) {
  for (const char* wait : {"-W", "--wait"}) {
    const auto of_sbatch = split_slurm_words("sbatch", {wait, "-o", "x.out", "--env-spec=e.yml", "t.sh"});
    ASSERT_TRUE(of_sbatch);
    EXPECT_EQ(shown(*of_sbatch), std::string("env-spec=e.yml | ") + wait + " -o x.out t.sh");
    const auto of_srun = split_slurm_words("srun", {wait, "10", "--env-spec=e.yml", "prog"});
    ASSERT_TRUE(of_srun);
    EXPECT_EQ(shown(*of_srun), std::string("env-spec=e.yml | ") + wait + " 10 prog");
  }
}

TEST(SplitSlurmWords, RefusesWhatLooksLikeOursAndIsNot) {
  EXPECT_THAT(split_slurm_words("srun", {"--env-spce=x"}),
              FailsWith(ErrorKind::usage, "there is no option '--env-spce'", "did you mean '--env-spec'?"));
  EXPECT_THAT(split_slurm_words("srun", {"--env-spec"}),
              FailsWith(ErrorKind::usage, "option '--env-spec' needs a value", ""));
  EXPECT_THAT(split_slurm_words("srun", {"--env-gpu-share=1"}),
              FailsWith(ErrorKind::usage, "option '--env-gpu-share' takes no value", ""));
}

}  // namespace
}  // namespace pinstep
