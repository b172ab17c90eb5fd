// Whatever Slurm's variables hold: facts are consistent or refused, the variables of the rendezvous are
// those that were not set, and forgetting them gives the environment back.
// Input: the values of the variables below, separated by zero bytes.
#include "launcher/step/step.h"

#include "envtools/base/variables.h"
#include "launcher/rendezvous/rendezvous.h"
#include "tests/fuzz/check.h"

using namespace pinstep;

namespace {

constexpr std::string_view kNames[] = {
    "SLURM_STEP_NODELIST",
    "SLURM_STEP_TASKS_PER_NODE",
    "SLURM_GTIDS",
    "SLURM_PMIX_MAPPING_SERV",
    "SLURM_PINSTEP_OFFER",
    "PINSTEP_STEP_SET",
    "SLURM_STEP_RESV_PORTS",
    "SLURM_DISTRIBUTION",
    "SLURM_HET_SIZE",
    "SLURM_JOB_ID_HET_GROUP_0",
    "SLURM_JOB_NODELIST_HET_GROUP_0",
    "MASTER_ADDR",
    "MASTER_PORT",
    "WORLD_SIZE",
    "SLURM_STEP_NUM_NODES",
    "SLURM_STEP_NUM_TASKS",
    "SLURM_PROCID",
    "SLURM_LOCALID",
    "SLURM_NODEID",
};

Environment environment_of(std::string_view input) {
  Environment environment({{"SLURM_JOB_ID", "12"},
                           {"SLURM_STEP_ID", "3"},
                           {"SLURMD_NODENAME", "n0"},
                           {"SLURM_STEP_NODELIST", "n[0-1]"},
                           {"SLURM_STEP_NUM_NODES", "2"},
                           {"SLURM_STEP_NUM_TASKS", "4"},
                           {"SLURM_PROCID", "0"},
                           {"SLURM_LOCALID", "0"},
                           {"SLURM_NODEID", "0"},
                           {"SLURM_GTIDS", "0,1"},
                           {"SLURM_MPI_TYPE", "pmix"},
                           {"PMIX_NAMESPACE", "slurm.pmix.12.3"}});
  for (const std::string_view name : kNames) {
    const std::string_view value = fuzz::take_text(input);
    if (!value.empty()) environment.set(name, value);
  }
  return environment;
}

void check_variables(const Environment& environment, const StepFacts& facts) {
  for (const Shape shape : {Shape::rank, Shape::torchrun, Shape::spawn}) {
    const auto offer = Offer::parse(environment.get(variable::kOffer).value_or(""));
    const auto endpoint = choose_endpoint(environment, facts.place, shape, offer, "%h");
    if (!endpoint) continue;
    CHECK(endpoint->port != 0);
    const auto variables = rendezvous_variables(environment, facts, shape, *endpoint, Values::of_this_task);
    if (!variables) continue;
    Environment inside = environment;
    for (const auto& [name, value] : *variables) {
      CHECK(!environment.has(name));
      inside.set(name, value);
    }
    inside.set(variable::kStepSet, set_record(facts.place.id, *variables));
    CHECK(forget_rendezvous(inside) == environment);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const Environment given = environment_of(fuzz::as_text(data, size));
  (void)read_step_place(given, Moment::before_tasks);

  const Environment environment = forget_rendezvous(given);
  CHECK(!environment.has(variable::kStepSet));
  const auto facts = read_step_facts(environment);
  if (!facts) {
    CHECK(facts.error().kind == ErrorKind::invalid);
    return 0;
  }
  CHECK(facts->place.nodes >= 1);
  CHECK(facts->rank < facts->size);
  CHECK(facts->local_rank < facts->local_size);
  check_variables(environment, *facts);
  return 0;
}
