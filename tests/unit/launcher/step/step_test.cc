#include "launcher/step/step.h"

#include "envtools/base/variables.h"
#include "tests/unit/support/results.h"
#include "tests/unit/support/steps.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing_support::Change;
using testing_support::changed;
using testing_support::FailsWith;
using testing_support::Holds;
using testing_support::shown;
using testing_support::Succeeds;
using testing_support::task_environment;
using Kind = StepId::Kind;
using Optional = std::optional<std::string>;

constexpr std::uint32_t kInteractive = 0xfffffffa;
constexpr std::uint32_t kBatch = 0xfffffffb;
constexpr std::uint32_t kExtern = 0xfffffffc;

Environment task(std::initializer_list<Change> changes) { return changed(task_environment(), changes); }

// ---- names of steps -------------------------------------------------------------------------------

TEST(StepId, IsWrittenAsSlurmWritesIt) {
  EXPECT_EQ(StepId::from(12, 0).text(), "12.0");
  EXPECT_EQ(StepId::from(4294967295, 4000000000).text(), "4294967295.4000000000");
  EXPECT_EQ(StepId::from(12, kBatch).text(), "12.batch");
  EXPECT_EQ(StepId::from(12, kInteractive).text(), "12.interactive");
  EXPECT_EQ(StepId::from(12, kExtern).text(), "12.extern");
}

TEST(StepId, KnowsSlurmsSpecialNumbers) {
  EXPECT_EQ(StepId::from(12, 3), (StepId{12, Kind::tasks, 3}));
  EXPECT_EQ(StepId::from(12, kBatch), (StepId{12, Kind::batch, 0}));
  EXPECT_EQ(StepId::from(12, kInteractive), (StepId{12, Kind::interactive, 0}));
  EXPECT_EQ(StepId::from(12, kExtern), (StepId{12, Kind::external, 0}));
}

// ---- kinds of steps -------------------------------------------------------------------------------

TEST(ReadStepPlace, TellsTheStepAndItsNode) {
  const auto place = read_step_place(task({}), Moment::in_task);
  ASSERT_THAT(place, Succeeds());
  EXPECT_EQ(place->id, (StepId{12, Kind::tasks, 3}));
  EXPECT_EQ(place->node, "n0");
  EXPECT_EQ(place->nodes, 2u);
  EXPECT_EQ(place->master_node, "n0");
  EXPECT_EQ(place->master_component, std::nullopt);
}

TEST(ReadStepPlace, TakesAMissingStepNumberForTheBatchStep) {
  const Environment batch(
      {{"SLURM_JOB_ID", "12"}, {"SLURMD_NODENAME", "n4"}, {"SLURM_JOB_NODELIST", "n[4-5]"}});
  const auto place = read_step_place(batch, Moment::in_task);
  ASSERT_THAT(place, Succeeds());
  EXPECT_EQ(place->id.kind, Kind::batch);
  EXPECT_EQ(place->nodes, 1u);
  EXPECT_EQ(place->master_node, "n4");
}

TEST(ReadStepPlace, BelievesTheCallerBeforeAnInheritedStepNumber) {
  for (const auto& [number, kind] : {std::pair{kBatch, Kind::batch}, std::pair{kInteractive, Kind::interactive},
                                     std::pair{kExtern, Kind::external}, std::pair{7u, Kind::tasks}}) {
    const auto place = read_step_place(task({}), Moment::before_tasks, number);
    ASSERT_THAT(place, Succeeds()) << number;
    EXPECT_EQ(place->id, StepId::from(12, number));
    EXPECT_EQ(place->id.kind, kind);
  }
}

TEST(ReadStepFacts, GiveABatchStepOneTask) {
  const auto facts = read_step_facts(task({{"SLURM_PROCID", "3"}, {"SLURM_LOCALID", nullptr}}), kBatch);
  ASSERT_THAT(facts, Succeeds());
  EXPECT_EQ(facts->rank, 0u);
  EXPECT_EQ(facts->size, 1u);
  EXPECT_EQ(facts->local_rank, 0u);
  EXPECT_EQ(facts->local_size, 1u);
  EXPECT_EQ(facts->node_rank, 0u);
  EXPECT_EQ(facts->tasks_on_each_node, 1u);
  EXPECT_TRUE(facts->is_single_node());
}

TEST(ReadStepFacts, NameTheVariableThatIsMissingOrNoNumber) {
  struct Case {
    Change change;
    const char* name;
  };
  for (const Case& c :
       {Case{{"SLURM_JOB_ID", nullptr}, "SLURM_JOB_ID"}, Case{{"SLURM_JOB_ID", ""}, "SLURM_JOB_ID"},
        Case{{"SLURM_JOB_ID", "12a"}, "SLURM_JOB_ID"}, Case{{"SLURM_STEP_ID", "x"}, "SLURM_STEP_ID"},
        Case{{"SLURM_STEP_ID", ""}, "SLURM_STEP_ID"}, Case{{"SLURMD_NODENAME", nullptr}, "SLURMD_NODENAME"},
        Case{{"SLURMD_NODENAME", ""}, "SLURMD_NODENAME"},
        Case{{"SLURM_STEP_NUM_NODES", nullptr}, "SLURM_STEP_NUM_NODES"},
        Case{{"SLURM_STEP_NUM_NODES", "0"}, "SLURM_STEP_NUM_NODES"},
        Case{{"SLURM_STEP_NUM_TASKS", "-1"}, "SLURM_STEP_NUM_TASKS"},
        Case{{"SLURM_PROCID", nullptr}, "SLURM_PROCID"}, Case{{"SLURM_LOCALID", nullptr}, "SLURM_LOCALID"}})
    EXPECT_THAT(read_step_facts(task({c.change})),
                FailsWith(ErrorKind::invalid,
                          "Slurm's variable " + std::string(c.name) + " is missing or cannot be understood",
                          "run this inside a Slurm job step"))
        << c.change.name << "=" << (c.change.value ? c.change.value : "unset");
}

TEST(ReadStepFacts, SayThatThisIsNoJob) {
  EXPECT_THAT(read_step_facts({}),
              FailsWith(ErrorKind::invalid, "Slurm's variable SLURM_JOB_ID is missing or cannot be understood",
                        "run this inside a Slurm job step"));
}

// ---- rank 0's node ----------------------------------------------------------------------------------

struct MasterCase {
  const char* what;
  Environment environment;
  Optional master;
  Moment moment = Moment::in_task;
};

const char* const kThirdFirst = "(vector,(2,1,1),(0,2,1))";  // rank 0 on the third node of the list

TEST(ReadStepPlace, FindsTheNodeOfRankZero) {
  const auto arbitrary = [](std::initializer_list<Change> changes) {
    return changed(task({{"SLURM_DISTRIBUTION", "arbitrary"},
                         {"SLURM_STEP_NODELIST", "n[0-2]"},
                         {"SLURM_STEP_NUM_NODES", "3"}}),
                   changes);
  };
  const char* const own = "slurm.pmix.12.3";
  const MasterCase cases[] = {
      {"block", task({{"SLURM_DISTRIBUTION", "block"}}), "n0"},
      {"cyclic", task({{"SLURM_DISTRIBUTION", "cyclic"}}), "n0"},
      {"plane", task({{"SLURM_DISTRIBUTION", "plane=2"}}), "n0"},
      {"block,NoPack", task({{"SLURM_DISTRIBUTION", "block:cyclic"}}), "n0"},
      {"no distribution told", task({{"SLURM_DISTRIBUTION", nullptr}}), "n0"},
      {"seen from the other node", task({{"SLURMD_NODENAME", "n1"}, {"SLURM_NODEID", "1"}}), "n0"},
      {"padded names", task({{"SLURM_STEP_NODELIST", "gpu[08-09]"}}), "gpu08"},
      {"names without brackets", task({{"SLURM_STEP_NODELIST", "b,a"}}), "b"},
      {"one node is its own", task({{"SLURM_STEP_NUM_NODES", "1"}, {"SLURM_STEP_NODELIST", "n0"}}), "n0"},
      {"one node, arbitrary", task({{"SLURM_STEP_NUM_NODES", "1"}, {"SLURM_DISTRIBUTION", "arbitrary"}}), "n0"},
      {"one node, another than the list's", task({{"SLURM_STEP_NUM_NODES", "1"}, {"SLURMD_NODENAME", "n7"}}),
       "n7"},
      {"a mapping counts in no other distribution",
       task({{"SLURM_PMIX_MAPPING_SERV", "(vector,(1,1,2),(0,1,2))"}, {"PMIX_NAMESPACE", own}}), "n0"},
      {"no list", task({{"SLURM_STEP_NODELIST", nullptr}}), std::nullopt},
      {"a broken list", task({{"SLURM_STEP_NODELIST", "n[0-"}}), std::nullopt},

      {"arbitrary, told by PMIx",
       arbitrary({{"SLURM_PMIX_MAPPING_SERV", kThirdFirst}, {"PMIX_NAMESPACE", own}}), "n2"},
      {"arbitrary:*",
       arbitrary({{"SLURM_DISTRIBUTION", "arbitrary:block"},
                  {"SLURM_PMIX_MAPPING_SERV", kThirdFirst},
                  {"PMIX_NAMESPACE", own}}),
       "n2"},
      {"arbitrary, nobody tells", arbitrary({}), std::nullopt},
      {"arbitrary, an outer step's mapping",
       arbitrary({{"SLURM_PMIX_MAPPING_SERV", kThirdFirst}, {"PMIX_NAMESPACE", "slurm.pmix.12.2"}}),
       std::nullopt},
      {"arbitrary, a mapping without PMIx", arbitrary({{"SLURM_PMIX_MAPPING_SERV", kThirdFirst}}),
       std::nullopt},
      {"arbitrary, a broken mapping",
       arbitrary({{"SLURM_PMIX_MAPPING_SERV", "(vector,(x"}, {"PMIX_NAMESPACE", own}}), std::nullopt},
      {"arbitrary, a mapping past the list",
       arbitrary({{"SLURM_PMIX_MAPPING_SERV", "(vector,(9,1,1))"}, {"PMIX_NAMESPACE", own}}), std::nullopt},
      {"arbitrary, told by srun's host file",
       arbitrary({{"SLURM_PINSTEP_OFFER", "1;node=n0;addr=;port=0;entry=0;first=n1"}}), "n1"},
      {"arbitrary, PMIx before the host file",
       arbitrary({{"SLURM_PINSTEP_OFFER", "1;node=n0;addr=;port=0;entry=0;first=n1"},
                  {"SLURM_PMIX_MAPPING_SERV", kThirdFirst},
                  {"PMIX_NAMESPACE", own}}),
       "n2"},
      {"arbitrary, srun has no host file",
       arbitrary({{"SLURM_PINSTEP_OFFER", "1;node=n0;addr=;port=0;entry=0;first="}}), std::nullopt},
      {"arbitrary, a broken offer", arbitrary({{"SLURM_PINSTEP_OFFER", "1;first=n1"}}), std::nullopt},
      {"a host file counts in no other distribution",
       task({{"SLURM_PINSTEP_OFFER", "1;node=n0;addr=;port=0;entry=0;first=n1"}}), "n0"},

      {"before the tasks, this step's MPI type tells",
       arbitrary({{"SLURM_PMIX_MAPPING_SERV", kThirdFirst}, {"SLURM_MPI_TYPE", "pmix_v4"}}), "n2",
       Moment::before_tasks},
      {"before the tasks, without PMIx",
       arbitrary(
           {{"SLURM_PMIX_MAPPING_SERV", kThirdFirst}, {"SLURM_MPI_TYPE", "none"}, {"PMIX_NAMESPACE", own}}),
       std::nullopt, Moment::before_tasks},
  };
  for (const MasterCase& c : cases) {
    const auto place = read_step_place(c.environment, c.moment);
    ASSERT_THAT(place, Succeeds()) << c.what;
    EXPECT_EQ(place->master_node, c.master) << c.what;
  }
}

TEST(ReadStepPlace, KnowsRankZeroNodeBeforeTheTasksWithoutThisNodesName) {
  for (const char* name : {static_cast<const char*>(nullptr), "login"}) {
    const auto place = read_step_place(
        task({{"SLURMD_NODENAME", name}, {"SLURM_STEP_NODELIST", "n4"}, {"SLURM_STEP_NUM_NODES", "1"}}),
        Moment::before_tasks);
    ASSERT_THAT(place, Succeeds());
    EXPECT_EQ(place->node, "");
    EXPECT_EQ(place->master_node, "n4");
  }
}

// Component 0 (job 12) on n1, component 1 (job 13) on n0: the list is sorted, the ranks are not.
Environment het_task(std::initializer_list<Change> changes) {
  return changed(task({{"SLURM_HET_SIZE", "2"},
                       {"SLURM_JOB_ID_HET_GROUP_0", "12"},
                       {"SLURM_JOB_ID_HET_GROUP_1", "13"},
                       {"SLURM_JOB_NODELIST_HET_GROUP_0", "n1"},
                       {"SLURM_JOB_NODELIST_HET_GROUP_1", "n0"}}),
                 changes);
}

TEST(ReadStepPlace, FindsTheFirstComponentOfAHeterogeneousStep) {
  struct Case {
    const char* what;
    Environment environment;
    Optional master;
    std::optional<std::uint32_t> component;
  };
  const Case cases[] = {
      {"both components", het_task({}), "n1", 12},
      {"seen from the other component", het_task({{"SLURMD_NODENAME", "n1"}}), "n1", 12},
      {"the second component alone", het_task({{"SLURM_STEP_NODELIST", "n0"}, {"SLURM_STEP_NUM_NODES", "1"}}),
       "n0", 13},
      // srun outside a job writes the names of older series.
      {"made by srun itself",
       task({{"SLURM_HET_SIZE", "2"},
             {"SLURM_JOB_ID_PACK_GROUP_0", "12"},
             {"SLURM_JOB_ID_PACK_GROUP_1", "13"},
             {"SLURM_JOB_NODELIST_PACK_GROUP_0", "n1"},
             {"SLURM_JOB_NODELIST_PACK_GROUP_1", "n0"}}),
       "n1", 12},
      {"components inherited from the job it was submitted from", het_task({{"SLURM_JOB_ID", "20"}}), "n0",
       std::nullopt},
      {"a component of which only its second node is in the step",
       het_task({{"SLURM_JOB_NODELIST_HET_GROUP_0", "n[1,9]"}, {"SLURM_STEP_NODELIST", "n[0,9]"}}), "n9", 12},
      {"the first component alone",
       het_task({{"SLURM_STEP_NODELIST", "n1"}, {"SLURM_STEP_NUM_NODES", "1"}, {"SLURMD_NODENAME", "n1"}}),
       "n1", 12},
      {"PMIx tells",
       het_task({{"SLURM_PMIX_MAPPING_SERV", "(vector,(0,1,2))"}, {"PMIX_NAMESPACE", "slurm.pmix.12.3"}}), "n0",
       12},
      {"arbitrary, nobody tells", het_task({{"SLURM_DISTRIBUTION", "arbitrary"}}), std::nullopt, 12},
      {"arbitrary, a host file is of one component only",
       het_task({{"SLURM_DISTRIBUTION", "arbitrary"},
                 {"SLURM_PINSTEP_OFFER", "1;node=n0;addr=;port=0;entry=0;first=n1"}}),
       std::nullopt, 12},
      {"no component is known",
       het_task({{"SLURM_JOB_NODELIST_HET_GROUP_0", nullptr}, {"SLURM_JOB_NODELIST_HET_GROUP_1", nullptr}}),
       "n0", std::nullopt},
  };
  for (const Case& c : cases) {
    const auto place = read_step_place(c.environment, Moment::in_task);
    ASSERT_THAT(place, Succeeds()) << c.what;
    EXPECT_EQ(place->master_node, c.master) << c.what;
    EXPECT_EQ(place->master_component, c.component) << c.what;
  }
}

TEST(ReadStepPlace, TakesTwoLongListsWithoutComparingAllWithAll) {
  Environment environment = het_task({{"SLURM_STEP_NODELIST", "n[0-99999]"}});
  for (int component = 0; component < 128; ++component) {
    const std::string group = "_HET_GROUP_" + std::to_string(component);
    environment.set("SLURM_JOB_ID" + group, std::to_string(12 + component));
    environment.set("SLURM_JOB_NODELIST" + group, "m[0-99999]");
  }
  EXPECT_THAT(read_step_place(environment, Moment::before_tasks), Succeeds());
}

TEST(ReadStepPlace, DoesNotExpandAListThatIsLongerThanAnyClusters) {
  const char* const endless = "n[0-999999999999999]";
  EXPECT_THAT(
      read_step_place(het_task({{"SLURM_STEP_NODELIST", endless}, {"SLURM_JOB_NODELIST_HET_GROUP_0", "x"}}),
                      Moment::before_tasks),
      Succeeds());
  EXPECT_THAT(read_step_place(task({{"SLURM_STEP_NODELIST", endless},
                                    {"SLURM_DISTRIBUTION", "arbitrary"},
                                    {"SLURM_PMIX_MAPPING_SERV", "(vector,(4000000000,1,1))"},
                                    {"SLURM_MPI_TYPE", "pmix"}}),
                              Moment::before_tasks),
              Succeeds());
  EXPECT_THAT(read_step_facts(task({{"SLURM_STEP_NODELIST", endless},
                                    {"SLURM_DISTRIBUTION", "arbitrary"},
                                    {"SLURM_PINSTEP_OFFER", "1;node=n0;addr=;port=0;entry=0;first=x"}})),
              Succeeds());
}

// ---- one task -----------------------------------------------------------------------------------

struct FactsCase {
  const char* what;
  Environment environment;
  std::uint32_t rank, size, local_rank, local_size, node_rank;
  std::optional<std::uint32_t> tasks_on_each_node;
};

TEST(ReadStepFacts, CountTasksAndNodes) {
  const FactsCase cases[] = {
      {"the first task", task({}), 0, 4, 0, 2, 0, 2},
      {"the last task",
       task({{"SLURM_PROCID", "3"}, {"SLURM_LOCALID", "1"}, {"SLURM_NODEID", "1"}, {"SLURM_GTIDS", "2,3"}}), 3,
       4, 1, 2, 1, 2},
      {"cyclic", task({{"SLURM_PROCID", "2"}, {"SLURM_LOCALID", "1"}, {"SLURM_GTIDS", "0,2"}}), 2, 4, 1, 2, 0,
       2},
      {"uneven", task({{"SLURM_STEP_NUM_TASKS", "3"}, {"SLURM_STEP_TASKS_PER_NODE", "2,1"}}), 0, 3, 0, 2, 0,
       std::nullopt},
      {"one per node",
       task({{"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"}, {"SLURM_GTIDS", "0"}}), 0,
       2, 0, 1, 0, 1},
      {"counts unknown", task({{"SLURM_STEP_TASKS_PER_NODE", nullptr}}), 0, 4, 0, 2, 0, std::nullopt},
      {"counts broken", task({{"SLURM_STEP_TASKS_PER_NODE", "2(x"}}), 0, 4, 0, 2, 0, std::nullopt},
      {"this step's PMIx rank wins", task({{"PMIX_NAMESPACE", "slurm.pmix.12.3"}, {"PMIX_RANK", "2"}}), 2, 4, 0,
       2, 0, 2},
      {"another step's PMIx rank does not", task({{"PMIX_NAMESPACE", "slurm.pmix.12.2"}, {"PMIX_RANK", "2"}}),
       0, 4, 0, 2, 0, 2},
      {"a PMIx rank alone does not", task({{"PMIX_RANK", "2"}}), 0, 4, 0, 2, 0, 2},
      {"a broken PMIx rank does not", task({{"PMIX_NAMESPACE", "slurm.pmix.12.3"}, {"PMIX_RANK", "x"}}), 0, 4,
       0, 2, 0, 2},
  };
  for (const FactsCase& c : cases) {
    const auto facts = read_step_facts(c.environment);
    ASSERT_THAT(facts, Succeeds()) << c.what;
    EXPECT_EQ(facts->rank, c.rank) << c.what;
    EXPECT_EQ(facts->size, c.size) << c.what;
    EXPECT_EQ(facts->local_rank, c.local_rank) << c.what;
    EXPECT_EQ(facts->local_size, c.local_size) << c.what;
    EXPECT_EQ(facts->node_rank, c.node_rank) << c.what;
    EXPECT_EQ(facts->tasks_on_each_node, c.tasks_on_each_node) << c.what;
  }
}

TEST(ReadStepFacts, GiveTheMasterNodeNodeRankZeroInAnArbitraryDistribution) {
  const char* const expected[] = {"1", "2", "0",
                                  "3"};  // of the nodes in the list's order; the third is rank 0's
  for (int index = 0; index < 4; ++index) {
    const std::string node = "n" + std::to_string(index);
    const auto facts = read_step_facts(task({{"SLURM_STEP_NODELIST", "n[0-3]"},
                                             {"SLURM_STEP_NUM_NODES", "4"},
                                             {"SLURM_DISTRIBUTION", "arbitrary"},
                                             {"SLURM_PINSTEP_OFFER", "1;node=x;addr=;port=0;entry=0;first=n2"},
                                             {"SLURMD_NODENAME", node.c_str()},
                                             {"SLURM_NODEID", std::to_string(index).c_str()}}));
    ASSERT_THAT(facts, Succeeds());
    EXPECT_EQ(std::to_string(facts->node_rank), expected[index]) << node;
  }
}

TEST(ReadStepFacts, KeepSlurmsNodeRankInAHeterogeneousStep) {
  const auto facts = read_step_facts(het_task({{"SLURM_NODEID", "1"}}));
  ASSERT_THAT(facts, Succeeds());
  EXPECT_EQ(facts->node_rank, 1u);
}

TEST(ReadStepFacts, RefuseNumbersThatContradictEachOther) {
  const std::string hint = "does a script change SLURM_* variables?";
  EXPECT_THAT(read_step_facts(task({{"SLURM_PROCID", "4"}})),
              FailsWith(ErrorKind::invalid,
                        "Slurm's variables contradict each other: rank 4 of 4, local rank 0 of 2", hint));
  EXPECT_THAT(read_step_facts(task({{"SLURM_LOCALID", "2"}})),
              FailsWith(ErrorKind::invalid,
                        "Slurm's variables contradict each other: rank 0 of 4, local rank 2 of 2", hint));
}

// ---- ranks that a task has started ------------------------------------------------------------------

TEST(ReadChildFacts, TakeTheirPlaceFromWhoStartedThem) {
  const struct {
    const char* what;
    std::initializer_list<Change> told;
    std::uint32_t local_rank, local_size, rank, size;
  } cases[] = {
      {"torchrun",
       {{"LOCAL_RANK", "2"}, {"LOCAL_WORLD_SIZE", "4"}, {"RANK", "6"}, {"WORLD_SIZE", "8"}},
       2,
       4,
       6,
       8},
      {"DeepSpeed", {{"LOCAL_RANK", "1"}, {"LOCAL_SIZE", "2"}}, 1, 2, 0, 2},
      {"mpirun, in a task that has ranks of its own",
       {{"OMPI_COMM_WORLD_LOCAL_RANK", "1"},
        {"OMPI_COMM_WORLD_LOCAL_SIZE", "3"},
        {"OMPI_COMM_WORLD_RANK", "4"},
        {"OMPI_COMM_WORLD_SIZE", "6"},
        {"LOCAL_RANK", "0"},
        {"LOCAL_WORLD_SIZE", "1"}},
       1,
       3,
       4,
       6},
      {"hydra",
       {{"MPI_LOCALRANKID", "0"}, {"MPI_LOCALNRANKS", "2"}, {"PMI_RANK", "1"}, {"PMI_SIZE", "2"}},
       0,
       2,
       1,
       2},
  };
  for (const auto& [what, told, local_rank, local_size, rank, size] : cases) {
    const auto facts = read_child_facts(changed(
        task({{"SLURM_GTIDS", "0"}, {"SLURM_STEP_NUM_TASKS", "2"}, {"SLURM_STEP_TASKS_PER_NODE", "1(x2)"}}),
        told));
    ASSERT_THAT(facts, Succeeds()) << what;
    EXPECT_EQ(facts->local_rank, local_rank) << what;
    EXPECT_EQ(facts->local_size, local_size) << what;
    EXPECT_EQ(facts->rank, rank) << what;
    EXPECT_EQ(facts->size, size) << what;
  }
}

TEST(ReadChildFacts, NeedAPlaceAmongTheRanksOfOneTask) {
  EXPECT_THAT(read_child_facts(task({{"LOCAL_RANK", "0"}, {"LOCAL_WORLD_SIZE", "2"}})),
              FailsWith(ErrorKind::conflict,
                        "2 tasks of step 12.3 on one node start ranks, which would get the same places",
                        "start one task on each node: --ntasks-per-node=1"));
  for (const auto& told : {std::initializer_list<Change>{},
                           {{"LOCAL_RANK", "1"}},
                           {{"LOCAL_RANK", "2"}, {"LOCAL_WORLD_SIZE", "2"}},
                           {{"LOCAL_RANK", "x"}, {"LOCAL_WORLD_SIZE", "2"}}}) {
    const auto facts = read_child_facts(changed(task({{"SLURM_GTIDS", "0"}}), told));
    ASSERT_FALSE(facts);
    EXPECT_EQ(facts.error().cause, "nothing tells this process its local rank");
  }
}

TEST(ExpandTasksPerNode, GivesACountForEachNode) {
  EXPECT_THAT(expand_tasks_per_node("2(x3),1"), Holds(ElementsAre(2, 2, 2, 1)));
  EXPECT_THAT(expand_tasks_per_node("4"), Holds(ElementsAre(4)));
  EXPECT_THAT(expand_tasks_per_node("1,2,3"), Holds(ElementsAre(1, 2, 3)));
  EXPECT_THAT(expand_tasks_per_node("0(x2)"), Holds(ElementsAre(0, 0)));
}

TEST(ExpandTasksPerNode, RefusesWhatIsNoList) {
  for (const std::string text : {"", ",", "2,", "2(x3", "2x3)", "2(3)", "(x3)", "2(x)", "2(x-1)", "a", "2 (x3)",
                                 "2(x3)4", "-1", "2(x99999999999)"})
    EXPECT_THAT(expand_tasks_per_node(text),
                FailsWith(ErrorKind::invalid, "'" + text + "' is not a list of tasks per node"))
        << shown(text);
}

TEST(ExpandTasksPerNode, RefusesMoreNodesThanAnyClusterHas) {
  EXPECT_FALSE(expand_tasks_per_node("1(x4000000000)"));
  EXPECT_FALSE(expand_tasks_per_node("1(x60000),1(x60000),1(x60000)"));
}

}  // namespace
}  // namespace pinstep
