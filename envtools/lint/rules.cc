#include <algorithm>
#include <array>

#include "envtools/lint/facts.h"
#include "envtools/lock/lock.h"
#include "envtools/lock/version.h"

namespace pinstep {
namespace {

using Findings = std::vector<Finding>;

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

void add(Findings& findings, int line, std::string why, std::string remedy) {
  findings.push_back({"", line, std::move(why), std::move(remedy)});
}

bool is_below(std::string_view version, std::string_view limit) { return compare_versions(version, limit) < 0; }

std::string major(std::string_view version) { return std::string(version.substr(0, version.find('.'))); }

// ---- conda and pip

void conda_and_pip(const LintFacts& facts, Findings& findings) {
  for (const Wanted& wanted : facts.all_conda)
    if (const Wanted* twin = facts.pip(pip_name_of(wanted.name)))
      add(findings, twin->line,
          quoted(twin->name) + " is listed for pip and, as " + quoted(wanted.name) + ", in line " +
              std::to_string(wanted.line) + " for conda: one would overwrite the other",
          "keep one of the two lines");
}

// What a spec may name to have CUDA from conda.
const Wanted* conda_cuda(const LintFacts& facts) {
  for (const char* name :
       {"pytorch-cuda", "cudatoolkit", "cuda-version", "cuda-toolkit", "cuda-runtime", "cuda"})
    if (const Wanted* wanted = facts.conda(name)) return wanted;
  return nullptr;
}

void torch_from_pip(const LintFacts& facts, Findings& findings) {
  const Wanted* torch = facts.pip("torch");
  const Wanted* cuda = conda_cuda(facts);
  if (torch != nullptr && cuda != nullptr)
    add(findings, torch->line,
        "torch from pip brings its own CUDA libraries beside those of " + quoted(cuda->name),
        "take 'pytorch' from conda, or leave " + quoted(cuda->name) + " out");
}

// ---- CUDA

// conda-forge's first builds of PyTorch 2 did need cudatoolkit.
void cuda_of_pytorch(const LintFacts& facts, Findings& findings) {
  const Wanted* pytorch = facts.conda("pytorch");
  const Wanted* toolkit = facts.conda("cudatoolkit");
  if (pytorch == nullptr || toolkit == nullptr || facts.channel("pytorch") == nullptr) return;
  const auto lowest = pytorch->at_least();
  if (lowest && is_below(*lowest, "2")) return;
  add(findings, toolkit->line, "PyTorch 2 of the channel 'pytorch' needs 'pytorch-cuda', not 'cudatoolkit'",
      "write 'pytorch-cuda=" + toolkit->version().value_or("12.4") + "' instead");
}

void cuda_versions(const LintFacts& facts, Findings& findings) {
  const Wanted* first = nullptr;
  for (const char* name : {"cudatoolkit", "pytorch-cuda", "cuda-version"}) {
    const Wanted* wanted = facts.conda(name);
    const auto version = wanted != nullptr ? wanted->version() : std::nullopt;
    if (!version) continue;
    if (first != nullptr && major(*first->version()) != major(*version))
      add(findings, wanted->line,
          quoted(wanted->name) + " asks for CUDA " + *version + ", " + quoted(first->name) + " in line " +
              std::to_string(first->line) + " for " + *first->version(),
          "keep one of the two lines");
    first = first != nullptr ? first : wanted;
    const auto driver = facts.offered("__cuda");
    if (driver && is_below(major(*driver), major(*version)))
      add(findings, wanted->line,
          quoted(wanted->name) + " asks for CUDA " + *version + ", the profile's driver has " + *driver,
          "ask for CUDA " + major(*driver) + ", or choose a profile of nodes with a newer driver");
  }
}

constexpr std::array<std::string_view, 6> kWithVariants{"pytorch", "tensorflow", "jaxlib",
                                                        "jax",     "cupy",       "onnxruntime"};

void variant(const LintFacts& facts, Findings& findings) {
  if (facts.offered("__cuda")) return;
  const Wanted* cuda = conda_cuda(facts);
  for (const Wanted& wanted : facts.all_conda) {
    const bool has_variants =
        std::find(kWithVariants.begin(), kWithVariants.end(), wanted.name) != kWithVariants.end();
    const bool is_chosen =
        cuda != nullptr || !wanted.build().empty() || wanted.constraint.find("build") != std::string::npos;
    if (has_variants && !is_chosen)
      add(findings, wanted.line,
          quoted(wanted.name) +
              " is there with and without CUDA, and the profile offers none: the variant for "
              "processors is chosen, also for nodes with GPUs",
          "'pinstep lock --virtual-package=__cuda=12.4', or '--profile=NAME', says what the nodes have");
  }
}

// ---- Python

struct End {
  std::string_view version;
  std::chrono::year_month last;  // of security fixes, by its release schedule (PEP 537 and its successors)
};
constexpr std::array<End, 9> kEnds{{{"3.6", std::chrono::year(2021) / 12},
                                    {"3.7", std::chrono::year(2023) / 6},
                                    {"3.8", std::chrono::year(2024) / 10},
                                    {"3.9", std::chrono::year(2025) / 10},
                                    {"3.10", std::chrono::year(2026) / 10},
                                    {"3.11", std::chrono::year(2027) / 10},
                                    {"3.12", std::chrono::year(2028) / 10},
                                    {"3.13", std::chrono::year(2029) / 10},
                                    {"3.14", std::chrono::year(2030) / 10}}};

void python_version(const LintFacts& facts, Findings& findings) {
  const Wanted* python = facts.conda("python");
  if (python == nullptr) {
    if (facts.input.spec.has_pip_section || facts.conda("pytorch") != nullptr || facts.conda("pip") != nullptr)
      add(findings, 0, "python is not listed: its version is whatever other packages allow",
          "add a line such as 'python=3.12'");
  } else if (python->constraint.empty()) {
    add(findings, python->line, "python has no version: the next lock may have another",
        "write a version, such as 'python=3.12'");
  }
}

void python_end(const LintFacts& facts, Findings& findings) {
  const Wanted* python = facts.conda("python");
  const auto version = python != nullptr ? python->version() : std::nullopt;
  if (!version) return;
  const auto end =
      std::find_if(kEnds.begin(), kEnds.end(), [&](const End& one) { return is_of(*version, one.version); });
  const bool is_old = is_below(*version, kEnds[0].version);
  if (!is_old && (end == kEnds.end() || end->last >= facts.input.today)) return;
  add(findings, python->line,
      "Python " + *version + " gets no security fixes any more, and ever fewer packages are built for it",
      "write 'python=3.12' or newer");
}

// ---- channels and names

void mixed_channels(const LintFacts& facts, Findings& findings) {
  const SpecLine* forge = facts.channel("conda-forge");
  const SpecLine* defaults =
      facts.channel("defaults") != nullptr ? facts.channel("defaults") : facts.channel("pkgs/main");
  if (forge != nullptr && defaults != nullptr)
    add(findings, defaults->line,
        "packages of " + quoted(defaults->text) + " and conda-forge do not fit together in general",
        "keep one of the two channels, and 'nodefaults'");
}

void archived_channel(const LintFacts& facts, Findings& findings) {
  if (const SpecLine* free = facts.channel("pkgs/free"))
    add(findings, free->line, "'pkgs/free' is archived: nothing was added to it since 2017", "leave it out");
  const SpecLine* channel = facts.channel("pytorch");
  const Wanted* pytorch = facts.conda("pytorch");
  const auto version = pytorch != nullptr ? pytorch->at_least() : std::nullopt;
  if (channel != nullptr && version && !is_below(*version, "2.6"))
    add(findings, channel->line, "the channel 'pytorch' ends with PyTorch 2.5",
        "take 'pytorch' from conda-forge");
}

void channel_url(const LintFacts& facts, Findings& findings) {
  for (const SpecLine& line : facts.input.spec.channels) {
    const auto channels = expand_channel(line.text, facts.input.channels);
    if (channels && channels->size() == 1 && channels->front().name == channels->front().url)
      add(findings, line.line,
          quoted(channels->front().url) +
              " stands for no channel known by name: the lock is of use only where this "
              "place is reached",
          "name it: 'channel.NAME=URL' in ~/.config/pinstep/config, or custom_channels in .condarc");
  }
}

// A password or token, not merely a user's name; "$PASSWORD" tells nobody.
bool has_secret(std::string_view text) {
  if (without_credentials_anywhere(text) == text || text.find('$') != std::string_view::npos) return false;
  const std::size_t authority = text.find("://") + 3;
  const std::string_view host = text.substr(authority, text.find('/', authority) - authority);
  return host.find('@') == std::string_view::npos || host.find(':') < host.rfind('@');
}

void secret(const LintFacts& facts, Findings& findings) {
  for (const auto& lines : {facts.input.spec.channels, facts.input.spec.pip})
    for (const SpecLine& line : lines)
      if (has_secret(line.text))
        add(findings, line.line,
            quoted(without_credentials_anywhere(line.text)) +
                " has a password or token, which everybody reads who "
                "gets the file",
            "put it into ~/.netrc or .condarc, or write a variable: https://user:$PASSWORD@host");
}

void base_name(const LintFacts& facts, Findings& findings) {
  if (facts.input.spec.name == "base")
    add(findings, 0, "'base' is the environment that conda itself lives in", "give it a name of its own");
}

// "pytorch2.0-cuda11.8": words, each with the version that follows it.
std::vector<std::pair<std::string, std::string>> versions_in(std::string_view name) {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  const auto is_letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); };
  std::vector<std::pair<std::string, std::string>> found;
  for (std::size_t i = 0; i < name.size();) {
    const std::size_t from = i;
    while (i < name.size() && is_letter(name[i])) ++i;
    std::string word(name.substr(from, i - from));
    const std::size_t digits = i;
    while (i < name.size() && (is_digit(name[i]) || (name[i] == '.' && i > digits))) ++i;
    std::string version(name.substr(digits, i - digits));
    while (version.ends_with('.')) version.pop_back();
    if (!word.empty() && !version.empty()) found.emplace_back(std::move(word), std::move(version));
    if (i == from) ++i;
  }
  return found;
}

// "py39" and "cu118" are written without a dot.
std::string with_dot(const std::string& word, std::string version) {
  if (version.find('.') != std::string::npos) return version;
  if ((word == "py" || word == "python") && version.size() > 1) return version.insert(1, ".");
  if ((word == "cu" || word == "cuda") && version.size() > 2) return version.insert(version.size() - 1, ".");
  return version;
}

void name_says(const LintFacts& facts, Findings& findings) {
  for (const auto& [word, written] : versions_in(facts.input.spec.name)) {
    const std::string version = with_dot(word, written);
    const Wanted* wanted = facts.conda(word);
    if (word == "py") wanted = facts.conda("python");
    if (word == "torch") wanted = facts.conda("pytorch");
    if (word == "cu" || word == "cuda") wanted = conda_cuda(facts);
    const auto listed = wanted != nullptr ? wanted->version() : std::nullopt;
    if (listed && !is_of(*listed, version) && !is_of(version, *listed))
      add(findings, wanted->line,
          "the name says " + word + " " + version + ", the line " + wanted->name + " " + *listed,
          "change one of the two");
  }
}

// ---- packages that are not what they seem

struct Mistaken {
  Manager manager;
  std::string_view name, needs;  // `needs`: only beside this conda package; may be empty
  std::string_view why, remedy;
};
constexpr std::array<Mistaken, 4> kMistaken{
    {{Manager::conda, "distributed", "pytorch",
      "'distributed' is Dask's scheduler; torch.distributed is a part of pytorch", "leave it out"},
     {Manager::pip, "torchelastic", "",
      "'torchelastic' is a part of PyTorch since 1.9, as torchrun; the package is for older ones",
      "leave it out"},
     {Manager::pip, "sklearn", "", "'sklearn' is no package any more, only a name for one",
      "write 'scikit-learn', which conda has too"},
     {Manager::pip, "pytorch", "", "PyTorch is 'torch' for pip; its package 'pytorch' only says so",
      "take conda's 'pytorch', or write 'torch'"}}};

void mistaken(const LintFacts& facts, Findings& findings) {
  for (const Mistaken& one : kMistaken) {
    const Wanted* wanted = one.manager == Manager::conda ? facts.conda(one.name) : facts.pip(one.name);
    if (wanted != nullptr && (one.needs.empty() || facts.conda(one.needs) != nullptr))
      add(findings, wanted->line, std::string(one.why), std::string(one.remedy));
  }
}

struct Rule {
  LintRule shown;
  void (*look)(const LintFacts&, Findings&);
};
constexpr std::array<Rule, 14> kRules{{
    {{"archived-channel", "a channel that gets no packages any more"}, archived_channel},
    {{"base-name", "an environment named 'base'"}, base_name},
    {{"channel-url", "a channel by a URL that stands for no name"}, channel_url},
    {{"conda-and-pip", "one package from conda and from pip"}, conda_and_pip},
    {{"cuda-of-pytorch", "'cudatoolkit' beside a PyTorch that does not use it"}, cuda_of_pytorch},
    {{"cuda-versions", "CUDA versions that contradict each other or the profile's driver"}, cuda_versions},
    {{"mistaken-package", "a package that is another than its name suggests"}, mistaken},
    {{"mixed-channels", "'defaults' together with conda-forge"}, mixed_channels},
    {{"name-says", "an environment's name that contradicts what is in it"}, name_says},
    {{"python-end", "a Python that gets no security fixes"}, python_end},
    {{"python-version", "Python without a version"}, python_version},
    {{"secret", "a password or token in the file"}, secret},
    {{"torch-from-pip", "torch from pip over conda's CUDA"}, torch_from_pip},
    {{"variant", "a package with and without CUDA, for nodes of which nothing is said"}, variant},
}};

}  // namespace

std::vector<Finding> lint(const LintInput& input, const std::vector<std::string>& ignored) {
  const LintFacts facts(input);
  Findings all;
  for (const Rule& rule : kRules) {
    if (std::find(ignored.begin(), ignored.end(), rule.shown.name) != ignored.end()) continue;
    Findings found;
    rule.look(facts, found);
    for (Finding& finding : found) {
      finding.rule = rule.shown.name;
      all.push_back(std::move(finding));
    }
  }
  std::stable_sort(all.begin(), all.end(), [](const Finding& a, const Finding& b) { return a.line < b.line; });
  return all;
}

std::vector<LintRule> lint_rules() {
  std::vector<LintRule> shown;
  for (const Rule& rule : kRules) shown.push_back(rule.shown);
  return shown;
}

}  // namespace pinstep
