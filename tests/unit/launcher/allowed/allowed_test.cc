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
    EXPECT_EQ(found.is_users_choice, !cpus && !std::string_view(type ? type : "").starts_with("mask_cpu"));
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
    EXPECT_TRUE(found.is_users_choice) << what;
    EXPECT_EQ(found.why_not, "srun's --cpu-bind or SLURM_CPU_BIND has bound the ranks") << what;
  }
}

TEST(SlurmsChoice, IsToldFromTheUsers) {
  const struct {
    const char* visible;
    const char* given;
    bool slurms;
  } cases[] = {
      {"0,1", "0,1", true},
      {"1", "1", true},
      {"0", "2", true},
      {"0,1", "2,3", true},
      {"1", "0", false},
      {"0", "0,1", false},
      {nullptr, "0", false},
      {"0", nullptr, false},
      {"GPU-1", "0", false},
      {"", "0", false},
      {"NoDevFiles", nullptr, true},
      {"3,2,1,0", "0,1,2,3", false},
      {"0,2,1,3", "0,1,2,3", false},
      {"5,6,7,8", "0,1,2,3", false},
      {"0,1,2,9", "0,1,2,3", false},
      {"1,0", "0,1", false},
      {"0,7", "0,1", false},
      {"0,0", "0,1", false},
      {"0-1", "0,1", false},
      {"3,2", "2,3", false},
      {"0,1,2,3,4,5,6,7,8,9,10", "5,6,7,8,9,10,11,12,13,14,15", true},
      {"0, 1", "2,3", false},
      {"0,1,", "2,3", false},
  };
  for (const auto& [visible, given, slurms] : cases)
    EXPECT_EQ(is_slurms_choice(
                  testing_support::changed({}, {{"CUDA_VISIBLE_DEVICES", visible}, {"SLURM_STEP_GPUS", given}}),
                  "CUDA_VISIBLE_DEVICES"),
              slurms)
        << (visible ? visible : "unset") << " of " << (given ? given : "unset");
}

using List = std::optional<std::string>;
const std::optional<Bits> kNone;

GpuReport report(Bits opens, std::optional<Bits> given, List visible = {}) {
  return {std::move(opens), std::move(given), std::move(visible)};
}

TEST(GpuReport, IsReadAsItWasWritten) {
  for (const GpuReport& one : {report({0, 1}, Bits{1}), report({}, kNone), report({2}, Bits{}),
                               report({}, kNone, ""), report({1}, Bits{1}, "GPU-1, 2")})
    EXPECT_EQ(GpuReport::parse(one.text()), one) << one.text();
  for (const auto* text : {"", "0", "0 0", "x 0 -", "0 x -", "0 0 0", "0 0 =%", "0 0 - -", "  -"})
    EXPECT_FALSE(GpuReport::parse(text)) << text;
}

TEST(GpuReport, HasWhatTheUserChose) {
  using testing_support::changed;
  EXPECT_EQ(gpu_report(changed({}, {{"CUDA_VISIBLE_DEVICES", "1"}, {"SLURM_STEP_GPUS", "1"}}), {0, 1}),
            report({0, 1}, Bits{1}));
  EXPECT_EQ(gpu_report(changed({}, {{"CUDA_VISIBLE_DEVICES", "0"}, {"SLURM_STEP_GPUS", "0,1"}}), {0, 1}),
            report({0, 1}, Bits{0, 1}, "0"));
  EXPECT_EQ(gpu_report(changed({}, {{"CUDA_VISIBLE_DEVICES", ""}}), {0}), report({0}, kNone, ""));
}

TEST(NodeGpus, OfTheJobAreThoseOfItsFirstNode) {
  const auto node = [](const char* name) {
    return node_gpus(testing_support::changed({}, {{"SLURM_GPUS_ON_NODE", "2"},
                                                   {"SLURM_JOB_GPUS", "0,3"},
                                                   {"SLURM_JOB_NODELIST", "n[0-3]"},
                                                   {"SLURMD_NODENAME", name}}));
  };
  EXPECT_EQ(node("n0").numbers, (Bits{0, 3}));
  EXPECT_EQ(node("n1").numbers, std::nullopt);
  EXPECT_EQ(node("n1").count, 2U);
}

NodeGpus has(std::uint32_t count, std::optional<Bits> numbers = std::nullopt) {
  NodeGpus node;
  node.count = count;
  node.numbers = std::move(numbers);
  return node;
}

TEST(StepGpus, AreFoundFromWhatTheRanksSay) {
  const Bits all{0, 1, 2, 3};
  struct Case {
    const char* what;
    std::vector<GpuReport> reports;
    NodeGpus node;
    Bits gpus;
    bool isolated;
    bool explained;
  };
  const std::vector<Case> cases{
      {"no GPUs", {report({}, kNone), report({}, kNone)}, {}, {}, false, false},
      {"one each, all open", {report(all, Bits{0}), report(all, Bits{1})}, has(2), {0, 1}, false, false},
      {"the same for all", {report(all, Bits{2, 3}), report(all, Bits{2, 3})}, has(2), {2, 3}, false, false},
      {"constrained, counted from 0",
       {report({2, 3}, Bits{0, 1}), report({2, 3}, Bits{0, 1})},
       has(2),
       {2, 3},
       false,
       false},
      {"isolated", {report({0}, Bits{0}), report({1}, Bits{0})}, has(2), {}, true, false},
      {"one rank without", {report({0}, Bits{0}), report({}, Bits{})}, has(1), {}, true, false},
      {"binding lifted, constrained",
       {report({0, 1}, kNone), report({0, 1}, kNone)},
       has(2),
       {0, 1},
       false,
       false},
      {"binding lifted, all open", {report(all, kNone), report(all, kNone)}, has(2), {}, false, true},
      {"the same, and the job's numbers are known",
       {report(all, kNone)},
       has(2, Bits{1, 3}),
       {1, 3},
       false,
       false},
      {"the job has more than the step", {report(all, kNone)}, has(1, Bits{1, 3}), {}, false, true},
      {"the job's numbers cannot be", {report(all, kNone)}, has(2, Bits{1, 7}), {}, false, true},
      {"Slurm knows no GPUs", {report({0, 1}, kNone)}, {}, {}, false, false},
      {"numbers that cannot be", {report({0, 1, 2}, Bits{7})}, has(1), {}, false, true},
      {"chosen by some users", {report(all, Bits{0}, "0"), report(all, Bits{1})}, has(2), {}, false, true},
  };
  for (const auto& [what, reports, node, gpus, isolated, explained] : cases) {
    const StepGpus found = step_gpus(reports, node);
    EXPECT_EQ(found.gpus, gpus) << what;
    EXPECT_EQ(found.is_isolated(), isolated) << what;
    EXPECT_EQ(!found.why_none.empty(), explained) << what;
    EXPECT_TRUE(found.visible.empty()) << what;
  }
}

TEST(StepGpus, WhatTheUserChoseIsHandedOn) {
  const StepGpus found = step_gpus({report({0, 1}, Bits{0}, "1"), report({0, 1}, Bits{1}, "0")}, {2, {}});
  EXPECT_EQ(found.visible, (std::vector<std::string>{"1", "0"}));
  EXPECT_EQ(found.opens, (Bits{0, 1}));
  EXPECT_TRUE(found.gpus.empty());
  // Of what a rank cannot open it cannot have chosen.
  EXPECT_TRUE(step_gpus({report({0}, Bits{0}, "0"), report({1}, Bits{0}, "0")}, {2, {}}).visible.empty());
}

TEST(StepGpus, OwnOnesOfEachRankAreCounted) {
  const Bits all{0, 1, 2, 3};
  const struct {
    std::vector<GpuReport> reports;
    std::optional<std::uint32_t> each;
  } cases[] = {
      {{report(all, Bits{0, 1}), report(all, Bits{2, 3})}, 2},
      {{report(all, Bits{0}), report(all, Bits{1})}, 1},
      {{report(all, Bits{0, 1}), report(all, Bits{0, 1})}, std::nullopt},
      {{report(all, Bits{0, 1}), report(all, Bits{2})}, std::nullopt},
  };
  for (const auto& [reports, each] : cases)
    EXPECT_EQ(step_gpus(reports, {4, {}}).each, each) << reports[1].text();
}

}  // namespace
}  // namespace pinstep
