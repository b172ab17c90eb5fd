#include "launcher/prepare/prepare.h"

#include <unistd.h>

#include "envtools/base/variables.h"
#include "tests/unit/support/clock.h"
#include "tests/unit/support/files.h"
#include "tests/unit/support/pins.h"
#include "tests/unit/support/results.h"
#include "tests/unit/support/steps.h"

namespace pinstep {
namespace {

using namespace std::string_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing_support::Change;
using testing_support::changed;
using testing_support::FailsWith;
using testing_support::FakeClock;
using testing_support::Succeeds;
using testing_support::task_environment;
using testing_support::TemporaryDirectory;
using testing_support::write_prefix;

// Knows one host, and counts what it was asked.
class Names final : public NameService {
 public:
  Result<std::vector<std::string>> addresses(const std::string& host) override {
    asked.push_back(host);
    if (known.empty()) return fail(ErrorKind::not_found, "no such host");
    return known;
  }

  std::vector<std::string> known;
  std::vector<std::string> asked;
};

class PrepareTask : public testing::Test {
 protected:
  PrepareTask() {
    write_prefix(prefix_, "pinstep-activation 1 -\nprepend PATH " + prefix_ + "/bin\0set CONDA_PREFIX "s +
                              prefix_ + "\0"s);
    request_ = request_in(task_environment());
    request_.pin.token = "0123456789abcdef";
    request_.pin.prefixes = {{std::string(own_platform()), "-", prefix_}};
    request_.argv = {"python", "train.py"};
    request_.trust = {::geteuid(), {}};
    request_.own_bin = "/opt/pinstep/bin";
  }

  TaskRequest request_in(const Environment& environment) {
    TaskRequest request = request_;
    request.environment = environment;
    request.environment.set("PATH", "/bin");
    request.facts = read_step_facts(environment).value();
    return request;
  }

  auto prepared(NameService* names = nullptr) { return prepare_task(request_, clock_, names); }

  TemporaryDirectory directory_;
  const std::string prefix_ = directory_ / "env";
  FakeClock clock_;
  TaskRequest request_;
};

TEST_F(PrepareTask, EntersThePrefixAndTellsTheRankItsPlace) {
  const auto task = prepared();
  ASSERT_THAT(task, Succeeds());
  Environment expected = request_.environment;
  for (const auto& [name, value] : Environment::Variables{
           {"PATH", prefix_ + "/bin:/bin:/opt/pinstep/bin"},
           {"CONDA_PREFIX", prefix_},
           {"PYTHONNOUSERSITE", "1"},
           {"RANK", "0"},
           {"WORLD_SIZE", "4"},
           {"LOCAL_RANK", "0"},
           {"LOCAL_WORLD_SIZE", "2"},
           {"NODE_RANK", "0"},
           {"GROUP_RANK", "0"},
           {"MASTER_ADDR", "n0"},
           {"MASTER_PORT", std::to_string(derived_port(request_.facts.place.id, 0))},
           {"PINSTEP_STEP_ID", "12.3"},
           {"PINSTEP_STEP_PREFIX", prefix_},
           {"PINSTEP_STEP_ENV", "-"},
           {"PINSTEP_STEP_UNDO", std::string(task->environment.get("PINSTEP_STEP_UNDO").value_or(""))},
           {"PINSTEP_STEP_SET", std::string(task->environment.get("PINSTEP_STEP_SET").value_or(""))}})
    expected.set(name, value);
  EXPECT_EQ(task->environment, expected);
  EXPECT_EQ(task->shape, Shape::rank);
  EXPECT_EQ(task->port_source, PortSource::derived);
  EXPECT_THAT(task->warnings, IsEmpty());
}

// Slurm would drop it and start the program with half an activation.
TEST_F(PrepareTask, RefusesAVariableThatNoProgramCanBeStartedWith) {
  const std::string longest(128 * 1024 - 3, 'x');  // with "V=" and the NUL
  write_prefix(prefix_, "pinstep-activation 1 -\nset V "s + longest + "\0"s);
  EXPECT_THAT(prepared(), Succeeds());
  write_prefix(prefix_, "pinstep-activation 1 -\nset V "s + longest + "x\0"s);
  const auto task = prepared();
  ASSERT_FALSE(task.has_value());
  EXPECT_EQ(task.error().cause,
            "the environment's variable V would have 131070 bytes, more than a program can be started with");
}

TEST_F(PrepareTask, TakesAnEmptyRendezvousVariableForNone) {
  request_.environment.set("MASTER_ADDR", "");
  request_.environment.set("RANK", "");
  const auto task = prepared();
  ASSERT_THAT(task, Succeeds());
  EXPECT_EQ(task->environment.get("MASTER_ADDR"), "n0");
  EXPECT_EQ(task->environment.get("RANK"), "0");
}

TEST_F(PrepareTask, CanBeTakenBackAsAWhole) {
  const auto task = prepared();
  ASSERT_THAT(task, Succeeds());
  EXPECT_EQ(leave(forget_rendezvous(task->environment)), request_.environment);
}

TEST_F(PrepareTask, TakesTheOfferOfAnSrunOnTheMasterNode) {
  request_.environment.set(variable::kOffer, (Offer{"n0", {"10.0.0.1"}, 4711, false, ""}.text()));
  const auto task = prepared();
  ASSERT_THAT(task, Succeeds());
  EXPECT_EQ(task->environment.get("MASTER_ADDR"), "10.0.0.1");
  EXPECT_EQ(task->environment.get("MASTER_PORT"), "4711");
  EXPECT_EQ(task->port_source, PortSource::offered);
  EXPECT_EQ(task->port, 4711);
}

TEST_F(PrepareTask, ReplacesTheValuesOfAnOuterStep) {
  const auto outer = prepared();
  ASSERT_THAT(outer, Succeeds());
  request_ = request_in(changed(outer->environment, {{"SLURM_STEP_ID", "4"},
                                                     {"SLURM_PROCID", "3"},
                                                     {"SLURM_LOCALID", "1"},
                                                     {"SLURM_NODEID", "1"},
                                                     {"SLURM_GTIDS", "2,3"},
                                                     {"SLURMD_NODENAME", "n1"}}));
  const auto inner = prepared();
  ASSERT_THAT(inner, Succeeds());
  EXPECT_EQ(inner->environment.get("RANK"), "3");
  EXPECT_EQ(inner->environment.get("NODE_RANK"), "1");
  EXPECT_EQ(inner->environment.get("PINSTEP_STEP_ID"), "12.4");
  EXPECT_EQ(inner->environment.get("MASTER_PORT"), std::to_string(derived_port(request_.facts.place.id, 0)));
}

TEST_F(PrepareTask, StopsWhereTheUsersValueContradictsTheStep) {
  request_.environment.set("WORLD_SIZE", "8");
  EXPECT_THAT(prepared(),
              FailsWith(ErrorKind::conflict, "WORLD_SIZE=8 is set in the environment, and in step 12.3 it is 4",
                        "unset WORLD_SIZE"));
}

TEST_F(PrepareTask, GivesNoRendezvousToShapeNoneAndLaunchersDaemons) {
  request_.argv = {"orted"};
  auto task = prepared();
  ASSERT_THAT(task, Succeeds());
  EXPECT_EQ(task->shape, Shape::none);
  EXPECT_FALSE(task->environment.has("RANK"));
  EXPECT_FALSE(task->environment.has("PINSTEP_STEP_SET"));
  EXPECT_EQ(task->environment.get("PINSTEP_STEP_PREFIX"), prefix_);
  request_.argv = {"python"};
  request_.pin.shape = Shape::none;
  task = prepared();
  ASSERT_THAT(task, Succeeds());
  EXPECT_FALSE(task->environment.has("RANK"));
}

TEST_F(PrepareTask, GivesNoRendezvousToStepsWithoutRanks) {
  for (const std::uint32_t step : {0xfffffffau, 0xfffffffbu, 0xfffffffcu}) {
    request_.facts = read_step_facts(request_.environment, step).value();
    const auto task = prepared();
    ASSERT_THAT(task, Succeeds());
    EXPECT_EQ(task->shape, Shape::none);
    EXPECT_FALSE(task->environment.has("RANK"));
    EXPECT_EQ(task->environment.get("PINSTEP_STEP_ID"), request_.facts.place.id.text());
    EXPECT_EQ(task->environment.get("CONDA_PREFIX"), prefix_);
  }
}

TEST_F(PrepareTask, ForgetsAnOuterStepsValuesInShapeNone) {
  const auto outer = prepared();
  ASSERT_THAT(outer, Succeeds());
  request_ = request_in(outer->environment);
  request_.pin.shape = Shape::none;
  const auto inner = prepared();
  ASSERT_THAT(inner, Succeeds());
  EXPECT_FALSE(inner->environment.has("RANK"));
  EXPECT_FALSE(inner->environment.has("MASTER_ADDR"));
}

TEST_F(PrepareTask, SaysForWhichPlatformsTheJobIsPinned) {
  request_.pin.prefixes = {{"linux-other", "-", prefix_}};
  EXPECT_THAT(prepared(), FailsWith(ErrorKind::invalid,
                                    "the job's environment is pinned for linux-other, not for " +
                                        std::string(own_platform()),
                                    "submit it with a lock that covers this platform"));
}

TEST_F(PrepareTask, SaysThatThePrefixIsNotOnThisNode) {
  request_.pin.prefixes[0].prefix = directory_ / "absent";
  request_.enoent_wait = Clock::Milliseconds(1000);
  EXPECT_THAT(prepared(), FailsWith(ErrorKind::not_found,
                                    "cannot open '" + (directory_ / "absent") +
                                        "/conda-meta/pinstep/activation': No such file or directory",
                                    "does this node see the file system it is on, and is it still there?"));
  EXPECT_EQ(clock_.total(), Clock::Milliseconds(1000));
}

TEST_F(PrepareTask, RefusesAStorePrefixThatHoldsAnotherEnvironment) {
  request_.pin.kind = Pin::Kind::store;
  request_.pin.prefixes[0].id = std::string(64, 'a');
  EXPECT_THAT(prepared(),
              FailsWith(ErrorKind::corrupt, "'" + prefix_ + "' holds another environment than the job's",
                        "build it again"));
  write_prefix(prefix_, "pinstep-activation 1 " + std::string(64, 'a') + "\n");
  EXPECT_THAT(prepared(), Succeeds());
}

// ---- warnings -------------------------------------------------------------------------------------

TEST_F(PrepareTask, WarnsWhereThisNodeCannotReachTheMasterNodeByName) {
  request_ = request_in(changed(
      task_environment(),
      {{"SLURMD_NODENAME", "n1"}, {"SLURM_NODEID", "1"}, {"SLURM_PROCID", "2"}, {"SLURM_GTIDS", "2,3"}}));
  request_.address_pattern = "%h-ib";
  const std::string hint =
      " (a site sets another name with 'address' in pinstep.conf, a user sets MASTER_ADDR)";
  struct Case {
    std::vector<std::string> known;
    std::string warning;
  };
  for (const Case& c :
       {Case{{}, "n1: 'n0-ib', the name of rank 0's node, has no address here"},
        Case{{"127.0.1.1"}, "n1: 'n0-ib', the name of rank 0's node, is this node itself here"},
        Case{{"127.0.0.1", "::1"}, "n1: 'n0-ib', the name of rank 0's node, is this node itself here"},
        Case{{"127.0.0.1", "10.0.0.1"}, ""}, Case{{"10.0.0.1"}, ""}}) {
    Names names;
    names.known = c.known;
    const auto task = prepared(&names);
    ASSERT_THAT(task, Succeeds());
    EXPECT_THAT(names.asked, ElementsAre("n0-ib"));
    if (c.warning.empty())
      EXPECT_THAT(task->warnings, IsEmpty());
    else
      EXPECT_THAT(task->warnings, ElementsAre(c.warning + hint));
  }
}

TEST_F(PrepareTask, AsksForNoNameThatNobodyNeeds) {
  struct Case {
    const char* what;
    Environment environment;
    std::vector<std::string> argv;
  };
  const Case cases[] = {
      {"on the master node", task_environment(), {"python"}},
      {"second task of a node",
       changed(task_environment(), {{"SLURMD_NODENAME", "n1"}, {"SLURM_LOCALID", "1"}}),
       {"python"}},
      {"an address was offered",
       changed(task_environment(), {{"SLURMD_NODENAME", "n1"},
                                    {"SLURM_PINSTEP_OFFER", "1;node=n0;addr=10.0.0.1;port=1;entry=0;first="}}),
       {"python"}},
      {"the user has set one",
       changed(task_environment(), {{"SLURMD_NODENAME", "n1"}, {"MASTER_ADDR", "x"}}),
       {"python"}},
      {"no rendezvous", changed(task_environment(), {{"SLURMD_NODENAME", "n1"}}), {"orted"}},
  };
  for (const Case& c : cases) {
    request_ = request_in(c.environment);
    request_.argv = c.argv;
    Names names;
    ASSERT_THAT(prepared(&names), Succeeds()) << c.what;
    EXPECT_THAT(names.asked, IsEmpty()) << c.what;
  }
}

TEST_F(PrepareTask, WarnsOnceWhereNobodyCanKnowTheMasterNode) {
  for (const char* rank : {"0", "1"}) {
    request_ =
        request_in(changed(task_environment(), {{"SLURM_DISTRIBUTION", "arbitrary"}, {"SLURM_PROCID", rank}}));
    const auto task = prepared();
    ASSERT_THAT(task, Succeeds());
    EXPECT_FALSE(task->environment.has("MASTER_ADDR"));
    EXPECT_FALSE(task->environment.has("MASTER_PORT"));
    EXPECT_EQ(task->environment.get("RANK"), rank);
    EXPECT_EQ(task->warnings.size(), rank == std::string("0") ? 1u : 0u);
  }
}

TEST_F(PrepareTask, AddsTheRendezvousAloneWithoutAPrefix) {
  const auto task = prepare_rendezvous(request_, nullptr);
  ASSERT_THAT(task, Succeeds());
  EXPECT_EQ(task->environment.get("RANK"), "0");
  EXPECT_EQ(task->environment.get("PATH"), "/bin");
  EXPECT_FALSE(task->environment.has("PINSTEP_STEP_PREFIX"));
  EXPECT_EQ(task->environment.get("PINSTEP_STEP_ID"), "12.3");
}

// ---- failing --------------------------------------------------------------------------------------

StepFacts facts_of(std::uint32_t rank, std::uint32_t nodes) {
  StepFacts facts;
  facts.place.nodes = nodes;
  facts.size = 2 * nodes;
  facts.rank = rank;
  facts.local_rank = rank % 2;
  facts.local_size = 2;
  return facts;
}

TEST(Verdict, LetsOneTaskSpeakAndEndsTheStepWhereOthersWouldWait) {
  enum class Says { nothing, line };
  enum class Ends { nothing, step };
  struct Case {
    const char* what;
    ErrorKind kind;
    std::uint32_t rank, nodes;
    Says says;
    Ends ends;
    int wait = 0;
    Values values = Values::same_for_all_tasks;
  };
  constexpr auto own = Values::of_this_task;
  const Case cases[] = {
      {"step error, rank 0", ErrorKind::invalid, 0, 2, Says::line, Ends::nothing},
      {"step error, its neighbour", ErrorKind::invalid, 1, 2, Says::nothing, Ends::nothing},
      {"step error, another node", ErrorKind::invalid, 2, 2, Says::nothing, Ends::nothing},
      {"usage, rank 0", ErrorKind::usage, 0, 1, Says::line, Ends::nothing},
      {"conflict, rank 0", ErrorKind::conflict, 0, 2, Says::line, Ends::nothing},
      {"conflict, another node", ErrorKind::conflict, 2, 2, Says::nothing, Ends::nothing},
      {"invalid, a task's own values", ErrorKind::invalid, 2, 2, Says::nothing, Ends::nothing, 0, own},
      {"conflict, a task's own values", ErrorKind::conflict, 2, 2, Says::line, Ends::step, 0, own},
      {"conflict, a task's own values, not its node's first", ErrorKind::conflict, 3, 2, Says::line, Ends::step,
       2000, own},

      {"node error, local rank 0", ErrorKind::not_found, 2, 2, Says::line, Ends::step},
      {"node error, its neighbour", ErrorKind::not_found, 3, 2, Says::nothing, Ends::nothing},
      {"node error, the only node", ErrorKind::not_found, 0, 1, Says::line, Ends::nothing},
      {"node error, the only node, its neighbour", ErrorKind::not_found, 1, 1, Says::nothing, Ends::nothing},
      {"refused", ErrorKind::refused, 0, 2, Says::line, Ends::step},
      {"corrupt", ErrorKind::corrupt, 0, 2, Says::line, Ends::step},
      {"unsupported", ErrorKind::unsupported, 0, 2, Says::line, Ends::step},
      {"busy", ErrorKind::busy, 0, 2, Says::line, Ends::step},

      {"perhaps alone, local rank 0", ErrorKind::os, 2, 2, Says::line, Ends::step},
      {"perhaps alone, its neighbour", ErrorKind::os, 3, 2, Says::line, Ends::step, 2000},
      {"perhaps alone, the only node", ErrorKind::timed_out, 1, 1, Says::line, Ends::step, 2000},
  };
  for (const Case& c : cases) {
    const Verdict what = verdict({c.kind, "cause", ""}, facts_of(c.rank, c.nodes), c.values);
    EXPECT_EQ(what.speaks, c.says == Says::line) << c.what;
    EXPECT_EQ(what.ends_step, c.ends == Ends::step) << c.what;
    EXPECT_EQ(what.wait, Clock::Milliseconds(c.wait)) << c.what;
  }
}

TEST(Verdict, EndsNoStepOfOneTask) {
  StepFacts facts;
  for (const ErrorKind kind :
       {ErrorKind::os, ErrorKind::not_found, ErrorKind::timed_out, ErrorKind::conflict}) {
    const Verdict what = verdict({kind, "cause", ""}, facts, Values::of_this_task);
    EXPECT_TRUE(what.speaks);
    EXPECT_FALSE(what.ends_step) << to_string(kind);
  }
}

TEST(Verdict, LetsAtMostOneTaskPerNodeSpeakAtOnce) {
  for (const ErrorKind kind :
       {ErrorKind::usage, ErrorKind::invalid, ErrorKind::conflict, ErrorKind::not_found, ErrorKind::corrupt,
        ErrorKind::unsupported, ErrorKind::refused, ErrorKind::busy, ErrorKind::timed_out, ErrorKind::os})
    for (const std::uint32_t nodes : {1u, 2u, 3u})
      for (std::uint32_t node = 0; node < nodes; ++node) {
        int at_once = 0;
        for (std::uint32_t local = 0; local < 2; ++local) {
          const Verdict what =
              verdict({kind, "cause", ""}, facts_of(2 * node + local, nodes), Values::same_for_all_tasks);
          at_once += what.speaks && what.wait.count() == 0;
        }
        EXPECT_LE(at_once, 1) << to_string(kind);
        EXPECT_TRUE(at_once == 1 || !is_node_error(kind)) << to_string(kind);
      }
}

TEST(FailureLine, NamesTheNodeOfANodesErrorOnly) {
  EXPECT_EQ(failure_line({ErrorKind::not_found, "it is gone", "look"}, "n1"),
            "pinstep: error: n1: it is gone (look)\n");
  EXPECT_EQ(failure_line({ErrorKind::invalid, "it is wrong\nhere", ""}, "n1"),
            "pinstep: error: it is wrong?here\n");
}

}  // namespace
}  // namespace pinstep
