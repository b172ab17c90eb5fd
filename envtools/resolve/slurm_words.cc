#include "envtools/resolve/slurm_words.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

constexpr std::array<std::string_view, 4> kWithValue{"env-spec", "env-lock", "env-build", "env-rendezvous"};
constexpr std::string_view kGpuShare = "env-gpu-share";

// Options of sbatch, salloc and srun (22.05 to 24.11) that take no value, or one only behind '='.
constexpr std::array<std::string_view, 45> kFlags{
    "--bcast",
    "--bell",
    "--contiguous",
    "--debugger-test",
    "--disable-status",
    "--exact",
    "--exclusive",
    "--get-user-env",
    "--help",
    "--hold",
    "--ignore-pbs",
    "--interactive",
    "--label",
    "--multi-prog",
    "--nice",
    "--no-allocate",
    "--no-bell",
    "--no-kill",
    "--no-requeue",
    "--no-shell",
    "--overcommit",
    "--overlap",
    "--oversubscribe",
    "--parsable",
    "--preserve-env",
    "--propagate",
    "--pty",
    "--quiet",
    "--quit-on-interrupt",
    "--reboot",
    "--requeue",
    "--resv-ports",
    "--spread-job",
    "--stepmgr",
    "--test-only",
    "--unbuffered",
    "--usage",
    "--use-min-nodes",
    "--verbose",
    "--version",
    "--wait-all-nodes",
    "--whole",
    "--x11",
    "--kill-on-bad-exit",
    "--compress",
};
// -e, -h, -i, -o, … take values; of the letters that mean one thing to sbatch and another to srun (-W, -k, -K,
// -I) those that take a value in one of them stand here only if their value must be attached.
constexpr std::string_view kShortFlags = "EHIKOQVXZhkluvs";

bool is_flag(std::string_view command, std::string_view word) {
  if (word == "-W" || word == "--wait") return command == "sbatch";
  if (word.starts_with("--")) return std::find(kFlags.begin(), kFlags.end(), word) != kFlags.end();
  // "-N2" holds its value; "-v" and "-vu" are flags.
  return word.size() > 2 || kShortFlags.find(word[1]) != std::string_view::npos;
}

bool wants_next_word(std::string_view command, std::string_view word) {
  return word.size() > 1 && word[0] == '-' && word.find('=') == std::string_view::npos &&
         !is_flag(command, word);
}

tl::unexpected<Error> unknown(std::string_view name) {
  std::vector<std::string_view> names(kWithValue.begin(), kWithValue.end());
  names.push_back(kGpuShare);
  const auto near = nearest(name, names);
  return fail(ErrorKind::usage, "there is no option '--" + std::string(name) + "'",
              near ? "did you mean '--" + std::string(*near) + "'?" : "--help lists pinstep's own options");
}

}  // namespace

bool is_our_option(std::string_view word) { return word.starts_with("--env-"); }

Result<OurOption> take_option(std::string_view word, const std::function<const std::string*()>& next) {
  const auto halves = split_once(word, '=');
  const std::string name((halves ? halves->before : word).substr(2));
  if (name == kGpuShare) {
    if (halves) return fail(ErrorKind::usage, "option '--" + name + "' takes no value");
    return OurOption{name, ""};
  }
  if (std::find(kWithValue.begin(), kWithValue.end(), name) == kWithValue.end()) return unknown(name);
  if (halves) return OurOption{name, std::string(halves->after)};
  const std::string* value = next();
  if (value == nullptr) return fail(ErrorKind::usage, "option '--" + name + "' needs a value");
  return OurOption{name, *value};
}

Result<SlurmWords> split_slurm_words(const std::string& command, const std::vector<std::string>& words) {
  SlurmWords split;
  std::size_t i = 0;
  while (i < words.size()) {
    const std::string& word = words[i];
    if (word == "--" || !word.starts_with('-') || word == "-") break;
    ++i;
    if (!is_our_option(word)) {
      split.slurms.push_back(word);
      // Whatever Slurm's option is, ours is not its value.
      if (wants_next_word(command, word) && i < words.size() && !is_our_option(words[i]))
        split.slurms.push_back(words[i++]);
      continue;
    }
    auto option = take_option(word, [&]() { return i < words.size() ? &words[i++] : nullptr; });
    if (!option) return tl::unexpected(option.error());
    split.ours.push_back(std::move(*option));
  }
  split.program = split.slurms.size() + (i < words.size() && words[i] == "--" ? 1 : 0);
  split.slurms.insert(split.slurms.end(), words.begin() + static_cast<std::ptrdiff_t>(i), words.end());
  return split;
}

}  // namespace pinstep
