#include "envtools/resolve/batch_lines.h"

#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing_support::FailsWith;

std::string shown(const BatchLines& lines) {
  std::string text;
  for (const auto& [name, value] : lines.ours) text += name + "=" + value + " ";
  return text + (lines.name_the_job ? "named " : "") + "|" + lines.script;
}

TEST(SplitBatchLines, TakesOursOutOfTheLinesThatSbatchReads) {
  struct Case {
    const char* script;
    const char* expected;
  };
  for (const Case& c : std::initializer_list<Case>{
           {"", "|"},
           {"#!/bin/sh\ntrue\n", "|#!/bin/sh\ntrue\n"},
           {"#!/bin/sh\n#SBATCH --env-gpu-share\n", "env-gpu-share= |#!/bin/sh\n#SBATCH \n"},
           {"#SBATCH -N2 --env-spec=e.yml --time=1\n", "env-spec=e.yml |#SBATCH -N2  --time=1\n"},
           {"#SBATCH --env-spec e.yml -J x", "env-spec=e.yml named |#SBATCH  -J x"},
           {"#SBATCH --job-name=x --env-spec='a b'\n", "env-spec=a b named |#SBATCH --job-name=x \n"},
           {"#SBATCH --comment=\"a --env-spec=x\"\n", "|#SBATCH --comment=\"a --env-spec=x\"\n"},
           {"#SBATCH \"--env-spec=a \\\" b\" -n1\n", "env-spec=a \" b |#SBATCH  -n1\n"},
           {"#SBATCH -n1 # --env-spec=x\n", "|#SBATCH -n1 # --env-spec=x\n"},
           {"# text\n\n  # more\n#SBATCH\t--env-spec=x\n", "env-spec=x |# text\n\n  # more\n#SBATCH\t\n"},
           {"true\n#SBATCH --env-spec=x\n", "|true\n#SBATCH --env-spec=x\n"},
           {" #SBATCH --env-spec=x\n##SBATCH --env-spec=y\n",
            "| #SBATCH --env-spec=x\n##SBATCH --env-spec=y\n"},
           {"#SBATCH --env-lock=frozen\n#SBATCH --env-spec=x\necho --env-spec=y\n",
            "env-lock=frozen env-spec=x |#SBATCH \n#SBATCH \necho --env-spec=y\n"},
       }) {
    const auto lines = split_batch_lines(c.script);
    ASSERT_TRUE(lines) << c.script;
    EXPECT_EQ(shown(*lines), c.expected) << c.script;
  }
}

TEST(SplitBatchLines, NamesTheLineThatIsWrong) {
  EXPECT_THAT(
      split_batch_lines("#!/bin/sh\n\n#SBATCH --env-spce=x\n"),
      FailsWith(ErrorKind::usage, "line 3: there is no option '--env-spce'", "did you mean '--env-spec'?"));
  EXPECT_THAT(split_batch_lines("#SBATCH --env-spec\n#SBATCH x\n"),
              FailsWith(ErrorKind::usage, "line 1: option '--env-spec' needs a value", ""));
}

}  // namespace
}  // namespace pinstep
