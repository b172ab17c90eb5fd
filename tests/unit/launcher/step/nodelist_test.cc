#include "launcher/step/nodelist.h"

#include <unistd.h>

#include <limits>

#include "envtools/base/process.h"
#include "pinstep_config.h"
#include "tests/unit/support/files.h"
#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using testing_support::FailsWith;
using testing_support::Holds;
using testing_support::Random;
using testing_support::shown;
using testing_support::TemporaryDirectory;
using testing_support::write_file;

constexpr std::size_t kAll = std::numeric_limits<std::size_t>::max();

std::string joined(const std::vector<std::string>& names) {
  std::string text;
  for (const std::string& name : names) text += (text.empty() ? "" : " ") + name;
  return text;
}

struct Case {
  std::string_view list, names;
};

TEST(ExpandNodeList, GivesTheNamesInOrder) {
  const Case cases[] = {
      {"n1", "n1"},
      {"login", "login"},
      {"n1,n2", "n1 n2"},
      {"n2,n1,n2", "n2 n1 n2"},  // a list, not a set
      {"n[1]", "n1"},
      {"n[0-3,7],login", "n0 n1 n2 n3 n7 login"},
      {"n[3,1-2]", "n3 n1 n2"},
      {"a[1-2],b[1-2]", "a1 a2 b1 b2"},
      {"n[01-03]", "n01 n02 n03"},
      {"n[08-11]", "n08 n09 n10 n11"},
      {"n[9-10]", "n9 n10"},
      {"n[098-101]", "n098 n099 n100 n101"},
      {"n[01-02,1,001]", "n01 n02 n1 n001"},
      {"n[00]", "n00"},
      {"n[99-101]", "n99 n100 n101"},
      {"rack[1-2]node[01-02]", "rack1node01 rack1node02 rack2node01 rack2node02"},
      {"n[1-2][3-4]", "n13 n14 n23 n24"},
      {"[1-2]", "1 2"},
      {"n-[1-2]", "n-1 n-2"},
      {"n[1-2]-ib", "n1-ib n2-ib"},
      {"n[1-2].example.org,x", "n1.example.org n2.example.org x"},
      {"r[1-2]n[1,3]-ib", "r1n1-ib r1n3-ib r2n1-ib r2n3-ib"},
      {"a.b-c_d", "a.b-c_d"},
      {"n[10000000001-10000000003]", "n10000000001 n10000000002 n10000000003"},
  };
  for (const Case& c : cases) {
    const auto names = expand_node_list(c.list, kAll);
    ASSERT_TRUE(names) << shown(c.list);
    EXPECT_EQ(joined(*names), c.names) << shown(c.list);
  }
}

TEST(ExpandNodeList, RefusesWhatIsNoList) {
  for (const std::string list : {"",
                                 ",",
                                 "n1,",
                                 ",n1",
                                 "n1,,n2",
                                 "n[",
                                 "n]",
                                 "n[]",
                                 "n[1",
                                 "n1]",
                                 "n[1-2]]",
                                 "n[[1-2]]",
                                 "n[1-2][",
                                 "n[1,]",
                                 "n[,1]",
                                 "n[1,,2]",
                                 "n[-]",
                                 "n[1-]",
                                 "n[-1]",
                                 "n[2-1]",
                                 "n[1-2-3]",
                                 "n[a-b]",
                                 "n[1 - 2]",
                                 "n[ 1]",
                                 "n 1",
                                 "n\t1",
                                 "n1\n",
                                 " n1",
                                 "n[0x1-0x2]",
                                 "n[1.5]",
                                 "n[99999999999999999999]",
                                 "n1 n2"})
    EXPECT_THAT(expand_node_list(list, kAll),
                FailsWith(ErrorKind::invalid, "'" + list + "' is not a node list"))
        << shown(list);
}

TEST(ExpandNodeList, GivesNoMoreThanAskedFor) {
  EXPECT_THAT(expand_node_list("n[1-3],m", 1), Holds(ElementsAre("n1")));
  EXPECT_THAT(expand_node_list("n[1-3],m", 4), Holds(ElementsAre("n1", "n2", "n3", "m")));
  EXPECT_THAT(expand_node_list("n[1-3]x[1-2]", 3), Holds(ElementsAre("n1x1", "n1x2", "n2x1")));
  EXPECT_THAT(expand_node_list("n1", 0), Holds(IsEmpty()));
}

TEST(ExpandNodeList, DoesNotExpandWhatNobodyAskedFor) {
  EXPECT_THAT(expand_node_list("n[1-999999999]x[1-999999999]", 2), Holds(ElementsAre("n1x1", "n1x2")));
}

TEST(ExpandNodeList, RefusesMoreBracketsThanItCanStepThrough) {
  std::string list;
  for (int i = 0; i < 40'000; ++i) list += "[1]";
  EXPECT_FALSE(expand_node_list(list, 1));
}

// A user may write what he likes into SLURM_STEP_NODELIST, and slurmstepd reads it.
TEST(ExpandNodeList, RefusesNamesThatAreLongerThanAnyHosts) {
  const std::string longest(255 - 3, 'n');
  EXPECT_TRUE(expand_node_list(longest + "[8-100]", 1).has_value());
  for (const std::string& list : {longest + "[8-1000]", longest + "[0008]", std::string(256, 'n')})
    EXPECT_FALSE(expand_node_list(list, 1).has_value()) << list;
  EXPECT_LT(expand_node_list(std::string(100'000, 'n'), 1).error().cause.size(), 300u);
}

TEST(ExpandNodeList, RefusesAWrongEndEvenIfTheBeginningIsEnough) {
  EXPECT_THAT(expand_node_list("n1,n[2-", 1), FailsWith(ErrorKind::invalid, "'n1,n[2-' is not a node list"));
}

// ---- against Slurm's own reading ------------------------------------------------------------------

// A list such as Slurm writes and reads: at most two bracketed parts, each element ending in a bracket or in
// plain text without one. Slurm 22.05 takes no text after the last bracket, and steps through three bracketed
// parts in an order that no counter has.
std::string made_up_list(Random& random) {
  std::string list;
  for (std::size_t elements = random.between(1, 4); elements > 0; --elements) {
    if (!list.empty()) list += ',';
    list += random.text("abn", 1, 1) + random.text("ab-.1", 0, 3) + random.text("abn", 1, 1);
    for (std::size_t parts = random.below(3); parts > 0; --parts) {
      list += '[';
      for (std::size_t ranges = random.between(1, 3); ranges > 0; --ranges) {
        const std::size_t low = random.below(random.one_in(2) ? 12 : 120);
        std::string text = std::to_string(low);
        if (random.one_in(2)) text.insert(0, random.below(3), '0');
        list += text;
        if (random.one_in(2)) {
          std::string high = std::to_string(low + random.below(5));
          if (high.size() < text.size()) high.insert(0, text.size() - high.size(), '0');
          list += "-" + high;
        }
        if (ranges > 1) list += ',';
      }
      list += ']';
      if (parts > 1) list += random.text("nx-", 1, 2);
    }
  }
  return list;
}

class Scontrol {
 public:
  // scontrol wants a configuration, and asks nobody to expand a list.
  Scontrol() {
    write_file(configuration_,
               "ClusterName=c\nSlurmctldHost=localhost\nNodeName=localhost\nPartitionName=p Nodes=ALL\n");
  }
  static bool exists() { return ::access(kPath, X_OK) == 0; }

  Result<std::string> hostnames(const std::string& list) {
    const auto result =
        run({{kPath, "show", "hostnames", list}, Environment{{{"SLURM_CONF", configuration_}}}}, 1 << 20);
    if (!result) return tl::unexpected(result.error());
    if (result->exit_code != 0) return fail(ErrorKind::os, "scontrol refuses '" + list + "'");
    return result->output;
  }

 private:
  static constexpr const char* kPath = SLURM_BINDIR "/scontrol";

  TemporaryDirectory directory_;
  std::string configuration_ = directory_ / "slurm.conf";
};

TEST(ExpandNodeList, AgreesWithScontrolWhereThatIsInstalled) {
  if (!Scontrol::exists()) return;  // the table above holds what it said
  Scontrol scontrol;
  Random random;
  for (int i = 0; i < 100; ++i) {
    const std::string list = made_up_list(random);
    const auto expected = scontrol.hostnames(list);
    ASSERT_TRUE(expected) << random << expected.error().cause;
    const auto names = expand_node_list(list, kAll);
    ASSERT_TRUE(names) << random << shown(list);
    std::string lines;
    for (const std::string& name : *names) lines += name + "\n";
    ASSERT_EQ(lines, *expected) << random << shown(list);
  }
}

}  // namespace
}  // namespace pinstep
