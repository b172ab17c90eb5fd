#include "launcher/allowed/allowed.h"

#include "tests/unit/support/results.h"
#include "tests/unit/support/steps.h"

namespace pinstep {
namespace {

TEST(StepCpus, AreThoseOfAllRanksUnderAutomaticBinding) {
  const struct {
    const char* type;
    const char* list;
    std::uint32_t ranks;
    std::optional<Bits> cpus;
  } cases[] = {
      {nullptr, nullptr, 2, Bits{0, 1}},
      {"none", "", 2, Bits{0, 1}},
      {"mask_cpu:", "0x3,0xc", 2, Bits{0, 1, 2, 3}},
      {"mask_cpu:", "0x3", 2, Bits{0, 1}},  // --overcommit
      {"cores", "", 2, Bits{0, 1}},         // without task/affinity
      // Masks of another numbering: nothing is known of the others.
      {"mask_cpu:", "0xc", 2, std::nullopt},
      {"mask_cpu:", "0xc", 1, Bits{0, 1}},
      {"mask_cpu:", "zz", 2, std::nullopt},
      {"map_cpu:", "0,1", 2, std::nullopt},
      {"rank_ldom:", "", 2, std::nullopt},
      {"rank", "", 2, std::nullopt},
      {"map_cpu:", "0", 1, Bits{0, 1}},
  };
  for (const auto& [type, list, ranks, cpus] : cases) {
    const auto environment =
        testing_support::changed({}, {{"SLURM_CPU_BIND_TYPE", type}, {"SLURM_CPU_BIND_LIST", list}});
    const StepCpus found = step_cpus(environment, Bits{0, 1}, ranks);
    EXPECT_EQ(found.cpus, cpus) << (type ? type : "") << (list ? list : "");
    EXPECT_EQ(found.why_not.empty(), cpus.has_value());
  }
}

TEST(StepCpus, ABindingOfTheUserStays) {
  const struct {
    const char* what;
    const char* type;
    const char* list;
  } cases[] = {
      {"--cpu-bind=mask_cpu:0x3,0xc", "mask_cpu:", "3,c"},
      {"the same, some with 0x", "mask_cpu:", "0x3,c"},
      {"--cpu-bind=sockets, two ranks on one", "mask_cpu:", "0x3,0x3"},
      {"--cpu-bind=cores --overcommit", "cores,mask_cpu:", "0x3"},
  };
  for (const auto& [what, type, list] : cases) {
    const StepCpus found =
        step_cpus(testing_support::changed({}, {{"SLURM_CPU_BIND_TYPE", type}, {"SLURM_CPU_BIND_LIST", list}}),
                  Bits{0, 1}, 2);
    EXPECT_EQ(found.cpus, std::nullopt) << what;
    EXPECT_EQ(found.why_not, "srun's --cpu-bind or SLURM_CPU_BIND has bound the ranks") << what;
  }
}

TEST(SlurmsChoice, IsToldFromTheUsers) {
  const struct {
    const char* visible;
    const char* given;
    bool slurms;
  } cases[] = {
      {"0,1", "0,1", true},  {"1", "1", true},    {"0", "2", true},      {"0,1", "2,3", true},
      {"1", "0", false},     {"0", "0,1", false}, {nullptr, "0", false}, {"0", nullptr, false},
      {"GPU-1", "0", false}, {"", "0", false},
  };
  for (const auto& [visible, given, slurms] : cases)
    EXPECT_EQ(is_slurms_choice(
                  testing_support::changed({}, {{"CUDA_VISIBLE_DEVICES", visible}, {"SLURM_STEP_GPUS", given}}),
                  "CUDA_VISIBLE_DEVICES"),
              slurms)
        << (visible ? visible : "unset") << " of " << (given ? given : "unset");
}

TEST(GpuReport, IsReadAsItWasWritten) {
  for (const GpuReport& report :
       {GpuReport{{0, 1}, Bits{1}}, GpuReport{{}, std::nullopt}, GpuReport{{2}, Bits{}}})
    EXPECT_EQ(GpuReport::parse(report.text()), report) << report.text();
  for (const auto* text : {"", "0", "x 0", "0 x"}) EXPECT_FALSE(GpuReport::parse(text)) << text;
}

TEST(StepGpus, AreFoundFromWhatTheRanksSay) {
  const auto none = std::optional<Bits>();
  const auto given = [](std::initializer_list<std::uint32_t> numbers) { return std::optional(Bits(numbers)); };
  const struct {
    const char* what;
    std::vector<GpuReport> reports;
    std::optional<std::uint32_t> on_node;
    Bits gpus;
    bool isolated;
    bool explained;
  } cases[] = {
      {"no GPUs", {{{}, none}, {{}, none}}, {}, {}, false, false},
      {"one each, all open", {{{0, 1, 2, 3}, given({0})}, {{0, 1, 2, 3}, given({1})}}, 2, {0, 1}, false, false},
      {"the same for all",
       {{{0, 1, 2, 3}, given({2, 3})}, {{0, 1, 2, 3}, given({2, 3})}},
       2,
       {2, 3},
       false,
       false},
      {"constrained, counted from 0",
       {{{2, 3}, given({0, 1})}, {{2, 3}, given({0, 1})}},
       2,
       {2, 3},
       false,
       false},
      {"isolated", {{{0}, given({0})}, {{1}, given({0})}}, 2, {}, true, false},
      {"one rank without", {{{0}, given({0})}, {{}, given({})}}, 1, {}, true, false},
      {"binding lifted, constrained", {{{0, 1}, none}, {{0, 1}, none}}, 2, {0, 1}, false, false},
      {"binding lifted, all open", {{{0, 1, 2, 3}, none}, {{0, 1, 2, 3}, none}}, 2, {}, false, true},
      {"Slurm knows no GPUs", {{{0, 1}, none}}, {}, {}, false, false},
      {"numbers that cannot be", {{{0, 1, 2}, given({7})}}, 1, {}, false, true},
  };
  for (const auto& [what, reports, on_node, gpus, isolated, explained] : cases) {
    const StepGpus found = step_gpus(reports, on_node);
    EXPECT_EQ(found.gpus, gpus) << what;
    EXPECT_EQ(found.is_isolated(), isolated) << what;
    EXPECT_EQ(!found.why_none.empty(), explained) << what;
  }
}

TEST(StepGpus, OwnOnesOfEachRankAreCounted) {
  const Bits all{0, 1, 2, 3};
  const struct {
    std::vector<GpuReport> reports;
    std::optional<std::uint32_t> each;
  } cases[] = {
      {{{all, Bits{0, 1}}, {all, Bits{2, 3}}}, 2},
      {{{all, Bits{0}}, {all, Bits{1}}}, 1},
      {{{all, Bits{0, 1}}, {all, Bits{0, 1}}}, std::nullopt},
      {{{all, Bits{0, 1}}, {all, Bits{2}}}, std::nullopt},
  };
  for (const auto& [reports, each] : cases) EXPECT_EQ(step_gpus(reports, 4).each, each) << reports[1].text();
}

}  // namespace
}  // namespace pinstep
