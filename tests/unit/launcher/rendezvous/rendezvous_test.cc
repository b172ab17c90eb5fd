#include "launcher/rendezvous/rendezvous.h"

#include <set>

#include "tests/unit/support/pins.h"
#include "tests/unit/support/random.h"
#include "tests/unit/support/results.h"

namespace pinstep {

inline void PrintTo(PortSource source, std::ostream* out) {
  constexpr const char* kNames[] = {"user", "reserved", "offered", "derived"};
  *out << kNames[static_cast<int>(source)];
}

namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using testing::Pair;
using testing_support::FailsWith;
using testing_support::Holds;
using testing_support::Random;
using testing_support::shown;
using testing_support::Succeeds;
using Kind = StepId::Kind;

// The task of this rank in step 12.3: n0 and n1 with two tasks each.
StepFacts facts_of(std::uint32_t rank) {
  StepFacts facts;
  facts.place.id = {12, Kind::tasks, 3};
  facts.place.node = rank < 2 ? "n0" : "n1";
  facts.place.nodes = 2;
  facts.place.master_node = "n0";
  facts.rank = rank;
  facts.size = 4;
  facts.local_rank = rank % 2;
  facts.local_size = 2;
  facts.node_rank = rank / 2;
  facts.tasks_on_each_node = 2;
  return facts;
}

// The same step with one task on each node.
StepFacts one_per_node(std::uint32_t rank) {
  StepFacts facts = facts_of(2 * rank);
  facts.rank = rank;
  facts.size = 2;
  facts.local_size = 1;
  facts.tasks_on_each_node = 1;
  return facts;
}

StepFacts single_task() {
  StepFacts facts = one_per_node(0);
  facts.place.nodes = 1;
  facts.size = 1;
  return facts;
}

Environment variables(Environment::Variables variables) { return Environment(std::move(variables)); }

const Offer kOffer{"n0", {"10.0.0.1", "2001:db8::1"}, 4711, false, ""};

// ---- port from job and step -----------------------------------------------------------------------

TEST(DerivedPort, IsInItsRangeAndDiffersBetweenStepsOfAJob) {
  for (const std::uint32_t job : {0u, 1u, 12u, 4294967295u}) {
    std::set<std::uint16_t> ports;
    for (std::uint32_t step = 0; step < kDerivedPortCount; ++step) {
      const std::uint16_t port = derived_port({job, Kind::tasks, step}, 0);
      ASSERT_GE(port, kDerivedPortLow);
      ASSERT_LT(port, kDerivedPortLow + kDerivedPortCount);
      ports.insert(port);
    }
    EXPECT_EQ(ports.size(), kDerivedPortCount) << "job " << job;
  }
}

TEST(DerivedPort, StaysInItsRangeForTheLargestNumbers) {
  const std::uint16_t port = derived_port({4294967295, Kind::tasks, 4294967295}, 0);
  EXPECT_GE(port, kDerivedPortLow);
  EXPECT_LT(port, kDerivedPortLow + kDerivedPortCount);
}

TEST(DerivedPort, SpreadsJobsSoThatNeighboursSeldomMeet) {
  std::set<std::uint16_t> ports;
  for (std::uint32_t job = 1000; job < 1100; ++job) ports.insert(derived_port({job, Kind::tasks, 0}, 0));
  EXPECT_GE(ports.size(), 95u);
}

// Connections of the last start are in TIME_WAIT for a minute, and a port that has some cannot be held.
TEST(DerivedPort, IsAnotherOneAfterARequeue) {
  const StepId step{12, Kind::tasks, 0};
  EXPECT_NE(derived_port(step, 0), derived_port(step, 1));
  const Environment requeued({{"SLURM_RESTART_COUNT", "2"}, {"PATH", "/bin"}});
  StepPlace place;
  place.id = step;
  EXPECT_EQ(choose_endpoint(requeued, place, Shape::rank, std::nullopt, "%h")->port, derived_port(step, 2));
  EXPECT_EQ(choose_endpoint(Environment(), place, Shape::rank, std::nullopt, "%h")->port,
            derived_port(step, 0));
}

TEST(DerivedPort, LiesOutsideTheEphemeralRange) { EXPECT_LE(kDerivedPortLow + kDerivedPortCount, 32768); }

// ---- address and port -----------------------------------------------------------------------------

struct EndpointCase {
  const char* what;
  Environment::Variables environment;
  std::optional<Offer> offer;
  std::optional<std::string> address;
  bool is_name;
  std::uint16_t port;
  PortSource source;
  Shape shape = Shape::rank;
  std::optional<std::string> master = "n0";
};

TEST(ChooseEndpoint, TakesAddressAndPortInOrder) {
  const std::uint16_t from_step = derived_port({12, Kind::tasks, 3}, 0);
  using enum PortSource;
  const Offer other_node{"login", {"10.9.9.9"}, 4711, false, ""};
  const Offer no_port{"n0", {"10.0.0.1"}, 0, false, ""};
  const Offer no_address{"n0", {}, 4711, false, ""};
  const Offer domain_name{"n0.example.org", {"10.0.0.1"}, 4711, false, ""};
  constexpr auto none = std::nullopt;
  const EndpointCase cases[] = {
      {"nothing is known but the master node", {}, none, "n0-ib", true, from_step, derived},
      {"srun runs on the master node", {}, kOffer, "10.0.0.1", false, 4711, offered},
      {"srun runs elsewhere", {}, other_node, "n0-ib", true, from_step, derived},
      {"srun holds no port", {}, no_port, "10.0.0.1", false, from_step, derived},
      {"srun knows no address", {}, no_address, "n0-ib", true, 4711, offered},
      {"names are compared whole", {}, domain_name, "n0-ib", true, from_step, derived},
      {"nobody knows the master node", {}, kOffer, none, false, from_step, derived, Shape::rank, none},

      {"the site reserves ports",
       {{"SLURM_STEP_RESV_PORTS", "12003-12004"}},
       none,
       "n0-ib",
       true,
       12003,
       reserved},
      {"reserved before offered",
       {{"SLURM_STEP_RESV_PORTS", "12003"}},
       kOffer,
       "10.0.0.1",
       false,
       12003,
       reserved},
      {"several reserved ranges",
       {{"SLURM_STEP_RESV_PORTS", "12003,12007-12009"}},
       none,
       "n0-ib",
       true,
       12003,
       reserved},
      {"reserved is empty", {{"SLURM_STEP_RESV_PORTS", ""}}, kOffer, "10.0.0.1", false, 4711, offered},
      {"reserved is none", {{"SLURM_STEP_RESV_PORTS", "0"}}, kOffer, "10.0.0.1", false, 4711, offered},
      {"reserved is broken", {{"SLURM_STEP_RESV_PORTS", "x"}}, kOffer, "10.0.0.1", false, 4711, offered},

      {"the user's port first",
       {{"MASTER_PORT", "29500"}, {"SLURM_STEP_RESV_PORTS", "12003"}},
       kOffer,
       "10.0.0.1",
       false,
       29500,
       user},
      {"the user's address first", {{"MASTER_ADDR", "n1"}}, kOffer, "n1", false, 4711, offered},
      {"both the user's", {{"MASTER_ADDR", "::1"}, {"MASTER_PORT", "1"}}, none, "::1", false, 1, user},
      {"the user's address where no node is known",
       {{"MASTER_ADDR", "n1"}},
       none,
       "n1",
       false,
       from_step,
       derived,
       Shape::rank,
       none},

      {"torchrun: its own variables first",
       {{"PET_MASTER_ADDR", "a"}, {"PET_MASTER_PORT", "5"}, {"MASTER_ADDR", "b"}, {"MASTER_PORT", "6"}},
       kOffer,
       "a",
       false,
       5,
       user,
       Shape::torchrun},
      {"torchrun: the common ones too",
       {{"MASTER_ADDR", "b"}, {"MASTER_PORT", "6"}},
       kOffer,
       "b",
       false,
       6,
       user,
       Shape::torchrun},
      {"rank: torchrun's do not count",
       {{"PET_MASTER_ADDR", "a"}, {"PET_MASTER_PORT", "5"}},
       kOffer,
       "10.0.0.1",
       false,
       4711,
       offered},
      {"spawn: as rank", {{"MASTER_PORT", "6"}}, kOffer, "10.0.0.1", false, 6, user, Shape::spawn},
  };
  for (const EndpointCase& c : cases) {
    StepPlace place = facts_of(0).place;
    place.master_node = c.master;
    const auto endpoint = choose_endpoint(variables(c.environment), place, c.shape, c.offer, "%h-ib");
    ASSERT_THAT(endpoint, Succeeds()) << c.what;
    EXPECT_EQ(endpoint->address, c.address) << c.what;
    EXPECT_EQ(endpoint->address_is_name, c.is_name) << c.what;
    EXPECT_EQ(endpoint->port, c.port) << c.what;
    EXPECT_EQ(endpoint->source, c.source) << c.what;
  }
}

TEST(ChooseEndpoint, IsTheSameSeenFromEveryNode) {
  for (const std::optional<Offer>& offer : {std::optional<Offer>(), std::optional(kOffer)}) {
    const auto first = choose_endpoint({}, facts_of(0).place, Shape::rank, offer, "%h");
    for (std::uint32_t rank = 1; rank < 4; ++rank) {
      const auto other = choose_endpoint({}, facts_of(rank).place, Shape::rank, offer, "%h");
      EXPECT_EQ(other->address, first->address);
      EXPECT_EQ(other->port, first->port);
      EXPECT_EQ(other->source, first->source);
    }
  }
}

TEST(ChooseEndpoint, RefusesAPortThatIsNone) {
  for (const std::string port : {"", "0", "65536", "-1", "x", "29500 "})
    EXPECT_THAT(
        choose_endpoint(variables({{"MASTER_PORT", port}}), facts_of(0).place, Shape::rank, kOffer, "%h"),
        FailsWith(ErrorKind::invalid, "MASTER_PORT=" + port + " is not a port",
                  "unset it, or give a number from 1 to 65535"))
        << shown(port);
}

TEST(ChooseEndpoint, NamesTheVariableWhosePortIsNone) {
  EXPECT_THAT(choose_endpoint(variables({{"PET_MASTER_PORT", "x"}, {"MASTER_PORT", "1"}}), facts_of(0).place,
                              Shape::torchrun, kOffer, "%h"),
              FailsWith(ErrorKind::invalid, "PET_MASTER_PORT=x is not a port",
                        "unset it, or give a number from 1 to 65535"));
  EXPECT_THAT(
      choose_endpoint(variables({{"MASTER_PORT", "x"}}), facts_of(0).place, Shape::torchrun, kOffer, "%h"),
      FailsWith(ErrorKind::invalid, "MASTER_PORT=x is not a port",
                "unset it, or give a number from 1 to 65535"));
}

// ---- shapes -------------------------------------------------------------------------------------

struct ShapeCase {
  Shape asked;
  std::vector<std::string> argv;
  Shape shape;
};

TEST(EffectiveShape, FollowsTheProgramAndWhatWasAsked) {
  using enum Shape;
  const ShapeCase cases[] = {
      {automatic, {}, rank},
      {automatic, {"python", "train.py"}, rank},
      {automatic, {"./a.out"}, rank},
      {automatic, {"torchrun", "train.py"}, torchrun},
      {automatic, {"/env/bin/torchrun", "--nnodes=2", "train.py"}, torchrun},
      {automatic, {"torchrun", "--standalone", "train.py"}, none},
      {automatic, {"torchrun", "--nproc-per-node=4", "--standalone", "train.py"}, none},
      {automatic, {"python", "-m", "x", "--standalone"}, rank},
      {automatic, {"mytorchrun"}, rank},
      {automatic, {"torchrun.sh"}, rank},
      {automatic, {"pinstep-launch", "--", "torchrun", "train.py"}, torchrun},
      {automatic, {"/opt/bin/pinstep-launch", "--env-spec=/e", "--", "/env/bin/torchrun"}, torchrun},
      {automatic, {"pinstep-launch", "--", "torchrun", "--standalone"}, none},
      {automatic, {"pinstep-launch", "--", "orted"}, none},
      {automatic, {"pinstep-launch", "--", "python", "--", "torchrun"}, rank},
      {automatic, {"pinstep-launch", "--"}, rank},
      {automatic, {"pinstep-launch"}, rank},
      {automatic, {"pinstep-launch", "torchrun", "train.py"}, torchrun},
      {automatic, {"pinstep-launch", "--env-spec", "/e", "torchrun"}, torchrun},
      {automatic, {"pinstep-launch", "--env-spec", "torchrun", "python"}, rank},
      {automatic, {"pinstep-launch", "--env-spec=none", "orted"}, none},
      {automatic, {"pinstep-launch", "--env-spec"}, rank},

      {rank, {"torchrun", "train.py"}, rank},
      {torchrun, {"python", "train.py"}, torchrun},
      {torchrun, {"torchrun", "--standalone"}, torchrun},
      {spawn, {"python", "train.py"}, spawn},
      {none, {"python", "train.py"}, none},
      {none, {"torchrun"}, none},

      {automatic, {"orted", "-mca", "ess", "slurm"}, none},
      {automatic, {"/usr/lib/openmpi/bin/orted"}, none},
      {automatic, {"prted"}, none},
      {automatic, {"hydra_pmi_proxy", "--control-port", "n0:1"}, none},
      {automatic, {"hydra_bstrap_proxy"}, none},
      {automatic, {"pmi_proxy"}, none},
      {automatic, {"mpiexec", "-n", "4", "./a.out"}, none},
      {automatic, {"mpiexec.hydra"}, none},
      {automatic, {"mpirun"}, none},
      {automatic, {"orterun"}, none},
      {rank, {"orted"}, none},
      {torchrun, {"mpirun"}, none},
      {automatic, {"orted-like"}, rank},
  };
  for (const ShapeCase& c : cases)
    EXPECT_EQ(effective_shape(c.asked, c.argv), c.shape)
        << to_string(c.asked) << " for " << testing::PrintToString(c.argv);
}

// ---- what each rank is told -------------------------------------------------------------------------

const Endpoint kEndpoint{"10.0.0.1", 4711, PortSource::offered, false};

Result<Variables> told(const StepFacts& facts, Shape shape, Environment::Variables environment = {},
                       Values values = Values::same_for_all_tasks, const Endpoint& endpoint = kEndpoint) {
  return rendezvous_variables(variables(std::move(environment)), facts, shape, endpoint, values);
}

TEST(RendezvousVariables, TellARankItsPlace) {
  EXPECT_THAT(told(facts_of(3), Shape::rank),
              Holds(ElementsAre(Pair("RANK", "3"), Pair("WORLD_SIZE", "4"), Pair("LOCAL_RANK", "1"),
                                Pair("LOCAL_WORLD_SIZE", "2"), Pair("NODE_RANK", "1"), Pair("GROUP_RANK", "1"),
                                Pair("MASTER_ADDR", "10.0.0.1"), Pair("MASTER_PORT", "4711"))));
}

TEST(RendezvousVariables, TellTorchrunItsOwnNamesOnly) {
  EXPECT_THAT(
      told(one_per_node(1), Shape::torchrun, {{"SLURM_GPUS_ON_NODE", "8"}}),
      Holds(ElementsAre(Pair("PET_NNODES", "2"), Pair("PET_NODE_RANK", "1"), Pair("PET_NPROC_PER_NODE", "8"),
                        Pair("PET_MASTER_ADDR", "10.0.0.1"), Pair("PET_MASTER_PORT", "4711"))));
}

TEST(RendezvousVariables, TellASpawningProgramItsNode) {
  EXPECT_THAT(told(one_per_node(1), Shape::spawn),
              Holds(ElementsAre(Pair("NODE_RANK", "1"), Pair("NNODES", "2"), Pair("MASTER_ADDR", "10.0.0.1"),
                                Pair("MASTER_PORT", "4711"))));
}

TEST(RendezvousVariables, TellNothingForShapeNone) {
  EXPECT_THAT(told(facts_of(3), Shape::none, {{"RANK", "17"}}), Holds(IsEmpty()));
}

TEST(RendezvousVariables, CountTheProcessesThatTorchrunStarts) {
  struct Case {
    Environment::Variables environment;
    const char* processes;
  };
  for (const Case& c :
       {Case{{}, "1"}, Case{{{"SLURM_GPUS_ON_NODE", "4"}}, "4"}, Case{{{"SLURM_GPUS_ON_NODE", "0"}}, "1"},
        Case{{{"CUDA_VISIBLE_DEVICES", "0,1,2"}}, "3"}, Case{{{"CUDA_VISIBLE_DEVICES", ""}}, "1"},
        Case{{{"SLURM_GPUS_ON_NODE", "x"}, {"CUDA_VISIBLE_DEVICES", "0,1"}}, "2"},
        Case{{{"SLURM_GPUS_ON_NODE", "2"}, {"CUDA_VISIBLE_DEVICES", "0,1,2"}}, "2"}}) {
    const auto variables = told(one_per_node(0), Shape::torchrun, c.environment);
    ASSERT_THAT(variables, Succeeds());
    EXPECT_THAT(*variables, testing::Contains(Pair("PET_NPROC_PER_NODE", c.processes)));
  }
}

TEST(RendezvousVariables, LeaveTheAddressOutWhereNobodyKnowsIt) {
  const Endpoint unknown{std::nullopt, 4711, PortSource::derived, false};
  EXPECT_THAT(told(one_per_node(0), Shape::spawn, {}, Values::same_for_all_tasks, unknown),
              Holds(ElementsAre(Pair("NODE_RANK", "0"), Pair("NNODES", "2"))));
}

TEST(RendezvousVariables, LeaveWhatTheUserHasSet) {
  EXPECT_THAT(told(facts_of(0), Shape::rank,
                   {{"WORLD_SIZE", "4"}, {"MASTER_PORT", "29500"}, {"LOCAL_WORLD_SIZE", "2"}}),
              Holds(ElementsAre(Pair("RANK", "0"), Pair("LOCAL_RANK", "0"), Pair("NODE_RANK", "0"),
                                Pair("GROUP_RANK", "0"), Pair("MASTER_ADDR", "10.0.0.1"))));
  EXPECT_THAT(
      told(one_per_node(0), Shape::torchrun,
           {{"PET_NNODES", "1:4"},
            {"PET_NPROC_PER_NODE", "auto"},
            {"PET_MASTER_ADDR", "a"},
            {"PET_MASTER_PORT", "1"},
            {"PET_NODE_RANK", "7"}}),
      FailsWith(ErrorKind::conflict,
                "PET_NODE_RANK=7 is set in the environment, and in step 12.3 it differs from task to task",
                "unset PET_NODE_RANK"));
  EXPECT_THAT(told(one_per_node(0), Shape::torchrun,
                   {{"PET_NNODES", "1:4"},
                    {"PET_NPROC_PER_NODE", "auto"},
                    {"PET_MASTER_ADDR", "a"},
                    {"PET_MASTER_PORT", "1"}}),
              Holds(ElementsAre(Pair("PET_NODE_RANK", "0"))));
}

TEST(RendezvousVariables, GiveTorchrunTheUsersCommonAddress) {
  const Endpoint users{"b", 6, PortSource::user, false};
  const auto variables = told(one_per_node(0), Shape::torchrun, {{"MASTER_ADDR", "b"}, {"MASTER_PORT", "6"}},
                              Values::same_for_all_tasks, users);
  ASSERT_THAT(variables, Succeeds());
  EXPECT_THAT(*variables, testing::Contains(Pair("PET_MASTER_ADDR", "b")));
  EXPECT_THAT(*variables, testing::Contains(Pair("PET_MASTER_PORT", "6")));
}

struct ConflictCase {
  const char* what;
  StepFacts facts;
  Shape shape;
  const char* name;
  const char* users;
  const char* steps;  // what the message says of the step; nullptr: no conflict
  Values values = Values::same_for_all_tasks;
};

TEST(RendezvousVariables, RefuseValuesOfTheUserThatContradictTheStep) {
  constexpr const char* kDiffers = "differs from task to task";
  constexpr auto own = Values::of_this_task;
  StepFacts uneven = facts_of(0);
  uneven.size = 3;
  uneven.tasks_on_each_node = std::nullopt;
  const ConflictCase cases[] = {
      {"another world size", facts_of(0), Shape::rank, "WORLD_SIZE", "8", "is 4"},
      {"the right world size", facts_of(0), Shape::rank, "WORLD_SIZE", "4", nullptr},
      {"an empty world size", facts_of(0), Shape::rank, "WORLD_SIZE", "", "is 4"},
      {"one rank for all", facts_of(0), Shape::rank, "RANK", "0", kDiffers},
      {"one rank for all, seen by another task", facts_of(3), Shape::rank, "RANK", "0", kDiffers},
      {"a task's own rank", facts_of(3), Shape::rank, "RANK", "3", nullptr, own},
      {"a task's own wrong rank", facts_of(3), Shape::rank, "RANK", "0", kDiffers, own},
      {"the only rank", single_task(), Shape::rank, "RANK", "0", nullptr},
      {"the only rank, wrong", single_task(), Shape::rank, "RANK", "1", "is 0"},
      {"one local rank for all", facts_of(0), Shape::rank, "LOCAL_RANK", "0", kDiffers},
      {"one local rank, one task per node", one_per_node(1), Shape::rank, "LOCAL_RANK", "0", nullptr},
      {"a wrong local rank, one task per node", one_per_node(1), Shape::rank, "LOCAL_RANK", "1", "is 0"},
      {"another local size", facts_of(0), Shape::rank, "LOCAL_WORLD_SIZE", "4", "is 2"},
      {"a local size that cannot hold on all nodes", uneven, Shape::rank, "LOCAL_WORLD_SIZE", "2", kDiffers},
      {"one node rank for two nodes", facts_of(0), Shape::rank, "NODE_RANK", "0", kDiffers},
      {"one group rank for two nodes", facts_of(0), Shape::rank, "GROUP_RANK", "0", kDiffers},
      {"the only node rank", single_task(), Shape::rank, "NODE_RANK", "0", nullptr},
      {"another number of nodes", one_per_node(0), Shape::spawn, "NNODES", "3", "is 2"},
      {"torchrun's number of nodes is the user's", one_per_node(0), Shape::torchrun, "PET_NNODES", "3",
       nullptr},
      {"torchrun does not look at RANK", one_per_node(0), Shape::torchrun, "RANK", "9", nullptr},
      {"spawn does not look at RANK", one_per_node(0), Shape::spawn, "RANK", "9", nullptr},
      {"rank does not look at PET_*", facts_of(0), Shape::rank, "PET_NODE_RANK", "9", nullptr},
  };
  for (const ConflictCase& c : cases) {
    const auto result = told(c.facts, c.shape, {{c.name, c.users}}, c.values);
    if (c.steps == nullptr) {
      EXPECT_THAT(result, Succeeds()) << c.what;
      continue;
    }
    EXPECT_THAT(result, FailsWith(ErrorKind::conflict,
                                  std::string(c.name) + "=" + c.users +
                                      " is set in the environment, and in step 12.3 it " + c.steps,
                                  "unset " + std::string(c.name)))
        << c.what;
  }
}

TEST(RendezvousVariables, AgreeBetweenTasksWhetherAValueOfTheUserContradicts) {
  // Values that came with the step are the same for all: either every task stops, or none.
  Random random;
  constexpr const char* kNames[] = {"RANK",      "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE",
                                    "NODE_RANK", "GROUP_RANK", "MASTER_ADDR"};
  for (int i = 0; i < 500; ++i) {
    Environment::Variables environment;
    for (std::size_t n = random.between(1, 3); n > 0; --n)
      environment[random.pick(kNames)] = std::to_string(random.below(5));
    std::set<std::string> outcomes;
    for (std::uint32_t rank = 0; rank < 4; ++rank) {
      const auto result = told(facts_of(rank), Shape::rank, environment);
      outcomes.insert(result ? "none" : result.error().cause);
    }
    EXPECT_EQ(outcomes.size(), 1u) << random << testing::PrintToString(outcomes);
  }
}

TEST(RendezvousVariables, WantOneTaskPerNodeWhereTheProgramStartsTheRanks) {
  for (const Shape shape : {Shape::torchrun, Shape::spawn})
    EXPECT_THAT(
        told(facts_of(0), shape),
        FailsWith(ErrorKind::conflict,
                  "a program that starts the ranks of its node itself needs one task per node, and step 12.3 "
                  "has 4 tasks on 2 nodes",
                  "add --ntasks=2 --ntasks-per-node=1"));
  StepFacts one_node = facts_of(0);
  one_node.place.nodes = 1;
  one_node.size = 2;
  EXPECT_THAT(
      told(one_node, Shape::spawn),
      FailsWith(ErrorKind::conflict,
                "a program that starts the ranks of its node itself needs one task per node, and step 12.3 "
                "has 2 tasks on 1 node",
                "add --ntasks=1 --ntasks-per-node=1"));
}

// ---- the record of what is ours -----------------------------------------------------------------------

TEST(SetRecord, NamesTheStepAndEscapesValues) {
  EXPECT_EQ(set_record({12, Kind::tasks, 3}, {}), "12.3");
  EXPECT_EQ(set_record({12, Kind::tasks, 3}, {{"RANK", "0"}, {"MASTER_ADDR", "a;b=c%"}}),
            "12.3;RANK=0;MASTER_ADDR=a%3Bb%3Dc%25");
}

TEST(ForgetRendezvous, TakesOutOurOwnValuesOnly) {
  const Environment outer = variables({{"PINSTEP_STEP_SET", "12.3;RANK=0;WORLD_SIZE=4;MASTER_ADDR=a%3Bb"},
                                       {"RANK", "0"},
                                       {"WORLD_SIZE", "8"},  // the script has set it since
                                       {"MASTER_ADDR", "a;b"},
                                       {"MASTER_PORT", "29500"},
                                       {"PATH", "/bin"}});
  EXPECT_EQ(forget_rendezvous(outer),
            variables({{"WORLD_SIZE", "8"}, {"MASTER_PORT", "29500"}, {"PATH", "/bin"}}));
}

TEST(ForgetRendezvous, ChangesNothingWithoutARecord) {
  const Environment environment = variables({{"RANK", "0"}, {"PATH", "/bin"}});
  EXPECT_EQ(forget_rendezvous(environment), environment);
}

TEST(ForgetRendezvous, SkipsWhatItCannotRead) {
  for (const char* record :
       {"", ";", ";;=", "12.3;RANK", "12.3;RANK=%", "12.3;%zz=0", "12.3;RANK=0%00", "RANK=1;=0"}) {
    const Environment environment = variables({{"RANK", "0"}, {"PINSTEP_STEP_SET", record}});
    EXPECT_EQ(forget_rendezvous(environment), variables({{"RANK", "0"}})) << shown(record);
  }
}

TEST(ForgetRendezvous, GivesTheEnvironmentBackThatOurValuesWereSetIn) {
  Random random;
  for (int i = 0; i < 500; ++i) {
    const Environment before = variables({{"USERS", random.text("ab;=%", 0, 4)}});
    Variables ours;
    for (std::size_t n = random.below(5); n > 0; --n)
      ours.emplace_back("OURS" + std::to_string(n), random.text("ab;=% \n\xff", 0, 6));
    Environment inside = before;
    for (const auto& [name, value] : ours) inside.set(name, value);
    inside.set("PINSTEP_STEP_SET", set_record({12, Kind::tasks, 3}, ours));
    ASSERT_EQ(forget_rendezvous(inside), before) << random;
  }
}

}  // namespace
}  // namespace pinstep
