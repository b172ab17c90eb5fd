#include "envtools/lint/lint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "tests/unit/support/testdata.h"

namespace pinstep {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr std::chrono::year_month kToday = std::chrono::year(2026) / 11;

std::vector<Finding> found_in(const Spec& spec, const std::vector<VirtualPackage>& profile,
                              const std::vector<std::string>& ignored = {}) {
  return lint({spec, profile, kToday}, ignored);
}

// "3 rule", for each finding.
std::vector<std::string> found(std::string_view text, const std::vector<VirtualPackage>& profile,
                               const std::vector<std::string>& ignored = {}) {
  const auto spec = parse_spec(text, "/x/environment.yml");
  if (!spec) return {spec.error().cause};
  std::vector<std::string> lines;
  for (const Finding& finding : found_in(*spec, profile, ignored))
    lines.push_back(std::to_string(finding.line) + " " + std::string(finding.rule));
  return lines;
}

const std::vector<VirtualPackage> kNoGpu;
const std::vector<VirtualPackage> kGpu{{"__cuda", "12.4", ""}};

struct Case {
  std::string text;
  std::vector<VirtualPackage> profile;
  std::vector<std::string> lines;
};

std::vector<Case> cases() {
  const std::string head = "channels: [conda-forge]\ndependencies:\n  - python=3.12\n";
  return {
      {head, kNoGpu, {}},
      {head + "  - numpy\n  - pip\n  - pip:\n    - numpy>=1\n", kNoGpu, {"7 conda-and-pip"}},
      {head + "  - pytorch\n  - pip:\n    - Torch==2.1; python_version < '4'\n", kGpu, {"6 conda-and-pip"}},
      {head + "  - scikit_learn\n  - pip:\n    - scikit.Learn\n", kNoGpu, {}},
      {head + "  - cuda-version=12\n  - pip:\n    - torch[opt]\n", kGpu, {"6 torch-from-pip"}},
      {head + "  - pip:\n    - torch\n    - -e .\n    - git+https://channel.example/torch\n", kGpu, {}},
      {head + "  - pytorch\n", kNoGpu, {"4 variant"}},
      {head + "  - pytorch\n", kGpu, {}},
      {head + "  - pytorch=2.4=*cuda*\n  - jaxlib[build='*cuda*']\n  - cpuonly\n", kNoGpu, {}},
      {head + "  - pytorch=2.4=*cuda*\n  - jax\n", kNoGpu, {"5 variant"}},
      {head + "  - cudatoolkit=11.8\n  - cuda-version 12.4.*\n", kGpu, {"5 cuda-versions"}},
      {head + "  - cuda-version>=13\n", kGpu, {}},
      {head + "  - cuda-version=13.0\n", kGpu, {"4 cuda-versions"}},
      {"channels: [pytorch]\ndependencies:\n  - python=3.12\n  - pytorch=1.12\n  - cudatoolkit=11.3\n",
       kGpu,
       {}},
      {"channels: [pytorch]\ndependencies:\n  - python=3.12\n  - pytorch\n  - cudatoolkit=11.3\n",
       kGpu,
       {"5 cuda-of-pytorch"}},
      {"channels: [pytorch]\ndependencies:\n  - python=3.12\n  - pytorch>=2.6\n", kGpu, {"1 archived-channel"}},
      {"channels: [pytorch]\ndependencies:\n  - python=3.12\n  - pytorch=2.5.1\n", kGpu, {}},
      {"channels: [https://channel.example/pkgs/free]\ndependencies: [xz]\n", kNoGpu, {"1 archived-channel"}},
      {"channels:\n  - conda-forge\n  - defaults\ndependencies: [xz]\n", kNoGpu, {"3 mixed-channels"}},
      {"channels:\n- https://channel.example/c\n- https://channel.example/anaconda/pkgs/r\n- /srv/c\n"
       "dependencies: [xz]\n",
       kNoGpu,
       {"2 channel-url", "4 channel-url"}},
      {"channels: ['https://_u:p@channel.example/pkgs/r']\ndependencies: [xz]\n", kNoGpu, {"1 secret"}},
      {"channels: ['https://_u:$PW@channel.example/pkgs/r']\ndependencies: [xz]\n", kNoGpu, {}},
      {head + "  - pip:\n    - --index-url https://channel.example/t/TOKEN/x\n"
              "    - git+https://git@channel.example/r.git\n",
       kNoGpu,
       {"5 secret"}},
      {"name: base\ndependencies: [xz]\n", kNoGpu, {"0 base-name"}},
      {"dependencies:\n  - pip\n", kNoGpu, {"0 python-version"}},
      {"dependencies:\n  - python\n", kNoGpu, {"2 python-version"}},
      {"dependencies:\n  - python>=3.8\n", kNoGpu, {}},
      {"dependencies:\n  - python=3.10\n", kNoGpu, {"2 python-end"}},
      {"dependencies:\n  - conda-forge::python 3.9.*\n", kNoGpu, {"2 python-end"}},
      {"dependencies:\n  - python=2.7\n", kNoGpu, {"2 python-end"}},
      {"dependencies:\n  - python=3.1\n", kNoGpu, {"2 python-end"}},
      {"dependencies:\n  - python=3.11\n", kNoGpu, {}},
      {"dependencies:\n  - python=3.25\n", kNoGpu, {}},
      {"name: pytorch2.0-cuda11.8\n" + head + "  - pytorch=2.1\n  - cuda-version=11.8\n",
       kGpu,
       {"5 name-says"}},
      {"name: pytorch2.0-cuda11.8\n" + head + "  - pytorch=2.0.1\n  - cuda-version=11.8\n", kGpu, {}},
      {"name: train_py311_cu124\n" + head + "  - cuda-version=12.4\n", kGpu, {"4 name-says"}},
      {"name: py3-v2\n" + head, kNoGpu, {}},
      {head + "  - distributed\n", kNoGpu, {}},
      {head + "  - pytorch\n  - distributed\n  - pip:\n    - sklearn\n    - torchelastic\n",
       kGpu,
       {"5 mistaken-package", "7 mistaken-package", "8 mistaken-package"}},
  };
}

TEST(Lint, HasARuleForEachSlip) {
  for (const Case& one : cases()) EXPECT_EQ(found(one.text, one.profile), one.lines) << one.text;
}

TEST(Lint, HasACaseForEachRule) {
  std::set<std::string> seen, all;
  for (const Case& one : cases())
    for (const std::string& line : one.lines) seen.insert(line.substr(2));
  for (const LintRule& rule : lint_rules()) all.emplace(rule.name);
  EXPECT_EQ(seen, all);
}

TEST(Lint, RulesCanBeLeftOut) {
  const std::string text = "name: base\ndependencies:\n  - python\n";
  EXPECT_THAT(found(text, kNoGpu, {"base-name"}), ElementsAre("3 python-version"));
  EXPECT_THAT(found(text, kNoGpu, {"base-name", "python-version"}), IsEmpty());
}

// The two environments that beginners' articles print: unsolvable as they are.
TEST(Lint, SaysWhatToWriteInsteadOfTheTeachingFiles) {
  const std::string directory = testing_support::testdata("conda/environments/teaching");
  if (directory.empty()) GTEST_SKIP() << "no test data: conda/environments";
  const auto told = [&](const std::string& name) {
    const auto spec = load_spec(directory + "/" + name);
    std::vector<std::string> lines;
    for (const Finding& finding : found_in(*spec, baseline_profile("linux-64")))
      lines.push_back(std::to_string(finding.line) + ": " + finding.why + "; " + finding.remedy);
    return lines;
  };
  const std::string end =
      " gets no security fixes any more, and ever fewer packages are built for it; write 'python=3.12' or "
      "newer";
  const std::string toolkit =
      "12: PyTorch 2 of the channel 'pytorch' needs 'pytorch-cuda', not 'cudatoolkit'; write "
      "'pytorch-cuda=11.8' "
      "instead";
  EXPECT_THAT(
      told("pytorch-dist.environment.yml"),
      ElementsAre("6: packages of 'defaults' and conda-forge do not fit together in general; keep one of the "
                  "two channels, and 'nodefaults'",
                  "8: Python 3.9" + end, toolkit,
                  "13: 'distributed' is Dask's scheduler; torch.distributed is a part of pytorch; leave it out",
                  "17: 'torchelastic' is a part of PyTorch since 1.9, as torchrun; the package is for older "
                  "ones; leave it out"));
  EXPECT_THAT(told("pytorch_dist-pinned.environment.yml"), ElementsAre("7: Python 3.9.18" + end, toolkit));
}

}  // namespace
}  // namespace pinstep
