// pinstep sbatch, salloc, srun: Slurm's commands with an environment, where there is no plugin.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <filesystem>

#include "envtools/base/fd.h"
#include "envtools/base/process.h"
#include "envtools/base/variables.h"
#include "envtools/cli/cli.h"
#include "envtools/cli/resolving.h"
#include "envtools/doctor/slurm.h"
#include "envtools/pin/use.h"
#include "envtools/resolve/batch_lines.h"

namespace pinstep::cli {
namespace {

// clang-format takes the text of a literal with a delimiter for C++.
// clang-format off
#define PINSTEP_SUBMIT_USAGE(COMMAND, TAIL)                                                          \
  "usage: pinstep " COMMAND " [OPTION]... [" COMMAND "'s options]... " TAIL "\n" \
  "\n"                                                                                                 \
  "Resolves the environment, hands its pin to the job and runs Slurm's " COMMAND ".\n"               \
  "For clusters without the plugin; with it, " COMMAND " itself has these options.\n"                \
  "\n"                                                                                                 \
  "  --env-spec=ENV         a spec, a lock, a prefix or an id; without it the spec found\n"          \
  "                         upward from here is taken\n"                                             \
  "  --env-spec=none        no environment\n"                                                         \
  "  --env-lock=POLICY      auto (solve where there is no lock), frozen or update\n"                 \
  "  --env-build=WHEN       submit or never\n"                                                        \
  "  --env-rendezvous=SHAPE auto, rank, torchrun, spawn or none\n"                                    \
  "  --env-gpu-share        let the ranks of a node reach each other's GPUs\n"                        \
  "\n"                                                                                                 \
  "They stand before the script or program, or in #SBATCH lines of a script. In the job\n"           \
  "programs are started through pinstep-launch.\n"                                                   \
  "\n"                                                                                                 \
  "Exit status: that of " COMMAND "; 125 pinstep itself failed, 2 wrong usage.\n"
// clang-format on

constexpr int kOwnFailure = 125;

int refuse(const Error& error) {
  const int code = report(error, false);
  return code == kUsage ? kUsage : kOwnFailure;
}

struct Typed {
  std::optional<std::string> spec;
  ResolveWords words;
};

Typed typed_options(const std::vector<OurOption>& ours) {
  Typed typed;
  for (const auto& [name, value] : ours) {
    if (name == "env-spec") typed.spec = value;
    if (name == "env-lock") typed.words.lock = value;
    if (name == "env-build") typed.words.build = value;
    if (name == "env-rendezvous") typed.words.shape = value;
    if (name == "env-gpu-share") typed.words.gpu_share = true;
  }
  return typed;
}

// Without the plugin a task is in the environment only if something puts it there.
bool names_launcher(const Arguments& words) {
  return std::any_of(words.begin(), words.end(), [](const std::string& word) {
    return std::filesystem::path(word).filename() == "pinstep-launch";
  });
}

constexpr std::size_t kScriptLimit = 16 << 20;  // bytes; Slurm takes 4 MB by default

// Takes our options out of the script's lines: they stand before those of the command line, which win, and
// sbatch gets a copy without them, which has no name and is gone when nobody has it open.
Result<void> take_batch_lines(const World& world, SlurmWords& split) {
  if (split.program >= split.slurms.size()) return {};
  std::string& path = split.slurms[split.program];
  const auto file = read_file(absolute(path, world.directory), kScriptLimit, Links::followed);
  if (!file) return {};  // sbatch has its own words for that, or finds it on PATH
  auto lines = split_batch_lines(file->text);
  if (!lines) {
    lines.error().cause = path + ": " + lines.error().cause;
    return tl::unexpected(lines.error());
  }
  if (lines->ours.empty()) return {};
  split.ours.insert(split.ours.begin(), lines->ours.begin(), lines->ours.end());

  UniqueFd copy(::memfd_create("script", 0));
  if (!copy.valid() || !write_all(copy.get(), lines->script) || ::lseek(copy.get(), 0, SEEK_SET) != 0)
    return fail_errno(errno, "copy", path);
  const std::string name = std::filesystem::path(path).filename();
  path = "/proc/self/fd/" + std::to_string(copy.release());
  if (!lines->name_the_job && !world.environment.has("SBATCH_JOB_NAME"))
    split.slurms.insert(split.slurms.begin(), "--job-name=" + name);
  return {};
}

// Where they are not there is no isolation to lift, and without it nothing would tell a step's GPUs.
bool devices_are_constrained(const Environment& environment) {
  const auto config = doctor::slurm_config(environment);
  if (!config) return false;  // Slurm's command will say the same
  const auto found = config->find("ConstrainDevices");
  return found != config->end() && found->second == "yes";
}

int submit_with(const std::string& command, const World& world, const Arguments& arguments) {
  auto split = split_slurm_words(command, arguments);
  if (!split) return refuse(split.error());
  if (command == "sbatch")
    if (const auto taken = take_batch_lines(world, *split); !taken) return refuse(taken.error());
  Typed typed = typed_options(split->ours);
  Environment environment = world.environment;
  // Inside a job its pin goes on, as it does with the plugin.
  const bool keeps = !typed.spec && !environment.get(variable::kPin).value_or("").empty();
  if (!keeps) {
    typed.words.env = typed.spec.value_or("");
    typed.words.upward = !typed.spec;
    typed.words.batch_step = false;  // without the plugin it builds nothing
    const auto pin = resolve_words(world, typed.words);
    if (!pin) return refuse(pin.error());
    if (*pin)
      environment.set(variable::kPin, (*pin)->text());
    else
      environment.unset(variable::kPin);
  } else if (auto pin = Pin::parse(*environment.get(variable::kPin)); pin && command != "srun") {
    // The new job's own, so that its environment is not taken away while it waits.
    pin->token = new_token();
    note_submission(*pin);
    environment.set(variable::kPin, pin->text());
  }
  if (command == "srun" && environment.has(variable::kPin) && !names_launcher(split->slurms))
    std::fputs(
        "pinstep: note: where the plugin is not installed, only programs started through pinstep-launch run "
        "in the environment: pinstep srun … pinstep-launch -- PROGRAM\n",
        stderr);
  // Only a step of one's own can lift the isolation from here; a batch job's steps inherit it.
  if (typed.words.gpu_share && !environment.has("SLURM_GPU_BIND") && devices_are_constrained(environment))
    environment.set("SLURM_GPU_BIND", "none");

  Command slurm{{command}, environment};
  slurm.argv.insert(slurm.argv.end(), split->slurms.begin(), split->slurms.end());
  return refuse(exec(slurm));
}

}  // namespace

const Verb kSbatch{
    "sbatch", "submit a batch job with an environment, without the plugin",
    PINSTEP_SUBMIT_USAGE("sbatch", "[SCRIPT [ARGUMENT]...]"),
    [](const World& world, const Arguments& words) { return submit_with("sbatch", world, words); }, true};
const Verb kSalloc{
    "salloc", "make an allocation with an environment, without the plugin",
    PINSTEP_SUBMIT_USAGE("salloc", "[PROGRAM [ARGUMENT]...]"),
    [](const World& world, const Arguments& words) { return submit_with("salloc", world, words); }, true};
const Verb kSrun{"srun", "run a step with an environment, without the plugin",
                 PINSTEP_SUBMIT_USAGE("srun", "PROGRAM [ARGUMENT]..."),
                 [](const World& world, const Arguments& words) { return submit_with("srun", world, words); },
                 true};

}  // namespace pinstep::cli
