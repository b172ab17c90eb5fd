#include "launcher/launch/options.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "envtools/base/text.h"
#include "launcher/machine/nic_filter.h"
#include "launcher/rendezvous/launch_words.h"

namespace pinstep {

const char* const kLaunchUsage =
    R"(usage: pinstep-launch [OPTION]... -- PROGRAM [ARGUMENT]...
       pinstep-launch [OPTION]... verify [--json] [--timeout=SECONDS]
       pinstep-launch --dry-run --ranks=N [OPTION]...

Runs PROGRAM as one rank of a Slurm step: in the job's environment, on the rank's
cores, GPU and memory node, and with the variables by which the ranks find each
other (MASTER_ADDR, RANK, WORLD_SIZE, ...). To be started by srun.

With verify the ranks compare what they have instead: map, GPUs, driver, NCCL,
pinstep, environment, kernel. Rank 0 names the nodes that are not like the others.

  --env-spec=PREFIX   the environment: a directory with conda-meta/pinstep/activation
  --env-spec=none     no environment, also where the job has one
  --shape=SHAPE       how ranks are started: auto, rank, torchrun, spawn, none (auto)
  --child             this is not a task but a rank that one has started: by torchrun,
                      mpirun and others that tell it its local rank
  --bind=auto|none    whether to bind the rank to its cores and memory (auto)
  --memory=preferred|bind|none
                      memory of the cores' node: first, only, or as it comes (preferred)
  --visible=all|own   GPUs a rank sees: the node's, its own at LOCAL_RANK, or its own (all)
  --gpus-per-rank=N   GPUs of each rank
  --topology=FILE     what the node has, as hwloc's or NCCL's XML, instead of looking
  --nccl-topology=FILE
                      where devices are, as NCCL's XML, where a hypervisor hides that
  --nics=LIST         the network cards to use, or with ^ not to, as NCCL_IB_HCA has it
  --ignore-link       use network cards without a link too
  --system-cores=N    leave N cores of each node to the system (0)
  --nccl-topo-file    give NCCL the topology that the map is made from
  --strict            fail where a rank cannot have a place instead of running it unbound
  --print-map         say on standard error which rank has what
  --score             print the map, and what other rules would come to
  --svg=FILE          draw the node and its map; %N in FILE is the node's name
  -v, --verbose       each rank says on standard error what it has and which variables it got
  --dry-run           print the map of a node and run nothing
  --ranks=N           with --dry-run: ranks on the node
  --gpus=LIST         with --dry-run: GPUs in bus order (0-3, none) instead of all
  --cpus=LIST         with --dry-run: processors (0-15,32-47) instead of all allowed
  --json              the map that is printed, or what verify finds, as JSON
  --timeout=SECONDS   with verify: how long to wait for the slowest rank (60)
  --help, --version

Exit status: that of PROGRAM, of verify 1 where something differs; 125 pinstep-launch itself failed, 126 PROGRAM cannot
be run, 127 it was not found, 2 wrong usage.
)";

namespace {

using Action = LaunchOptions::Action;

struct Option {
  std::string_view name;
  bool has_value;
  bool (*take)(LaunchOptions&, const std::string& value);  // false: the value is wrong
};

bool take_number(std::string_view text, std::uint32_t least, std::uint32_t& number) {
  const auto parsed = parse_number<std::uint32_t>(text);
  number = parsed.value_or(0);
  return parsed && number >= least && number <= 4096;
}

template <class Value>
bool take_known(std::optional<Value> parsed, Value& value) {
  if (parsed) value = *parsed;
  return parsed.has_value();
}

constexpr std::array kOptions = std::to_array<Option>({
    {"--env-spec", true, [](auto& o, const auto& v) { return o.env_spec = v, true; }},
    {"--shape", true, [](auto& o, const auto& v) { return take_known(parse_shape(v), o.shape.emplace()); }},
    {"--child", false, [](auto& o, const auto&) { return o.is_child = true; }},
    {"--bind", true, [](auto& o, const auto& v) { return o.binds = v == "auto", v == "auto" || v == "none"; }},
    {"--memory", true, [](auto& o, const auto& v) { return take_known(parse_memory_policy(v), o.memory); }},
    {"--visible", true,
     [](auto& o, const auto& v) {
       o.visible = v == "own" ? Visible::own : Visible::all;
       return v == "all" || v == "own";
     }},
    {"--gpus-per-rank", true,
     [](auto& o, const auto& v) { return take_number(v, 1, o.gpus_per_rank.emplace()); }},
    {"--topology", true, [](auto& o, const auto& v) { return o.topology = v, !v.empty(); }},
    {"--nccl-topology", true, [](auto& o, const auto& v) { return o.nccl_topology = v, !v.empty(); }},
    {"--nics", true, [](auto& o, const auto& v) { return o.nics = v, NicList::parse(v).has_value(); }},
    {"--ignore-link", false, [](auto& o, const auto&) { return o.ignores_link = true; }},
    {"--system-cores", true, [](auto& o, const auto& v) { return take_number(v, 0, o.system_cores); }},
    {"--score", false, [](auto& o, const auto&) { return o.scores = o.prints_map = true; }},
    {"--nccl-topo-file", false, [](auto& o, const auto&) { return o.writes_nccl_file = true; }},
    {"--strict", false, [](auto& o, const auto&) { return o.is_strict = true; }},
    {"--print-map", false, [](auto& o, const auto&) { return o.prints_map = true; }},
    {"--svg", true, [](auto& o, const auto& v) { return o.picture = v, !v.empty(); }},
    {"--verbose", false, [](auto& o, const auto&) { return o.is_verbose = true; }},
    {"-v", false, [](auto& o, const auto&) { return o.is_verbose = true; }},
    {"--dry-run", false, [](auto& o, const auto&) { return o.action = Action::dry_run, true; }},
    {"--ranks", true, [](auto& o, const auto& v) { return take_number(v, 1, o.ranks); }},
    {"--gpus", true,
     [](auto& o, const auto& v) { return o.gpus = v, v == "none" || (!v.empty() && Bits::parse(v)); }},
    {"--cpus", true,
     [](auto& o, const auto& v) { return o.cpus = v, !v.empty() && Bits::parse(v).has_value(); }},
    {"--json", false, [](auto& o, const auto&) { return o.json = true; }},
    {"--help", false, [](auto& o, const auto&) { return o.action = Action::help, true; }},
    {"-h", false, [](auto& o, const auto&) { return o.action = Action::help, true; }},
    {"--version", false, [](auto& o, const auto&) { return o.action = Action::version, true; }},
});

constexpr bool rendezvous_knows_them() {
  std::size_t with_value = 0;
  for (const Option& option : kOptions) {
    if (!option.has_value) continue;
    ++with_value;
    if (std::find(kLaunchOptionsWithValue.begin(), kLaunchOptionsWithValue.end(), option.name) ==
        kLaunchOptionsWithValue.end())
      return false;
  }
  return with_value == kLaunchOptionsWithValue.size();
}
static_assert(rendezvous_knows_them(), "launcher/rendezvous/launch_words.h lists the options with a value");

tl::unexpected<Error> unknown(std::string_view word) {
  std::vector<std::string_view> names;
  for (const Option& option : kOptions) names.push_back(option.name);
  const auto near = nearest(word.substr(0, word.find('=')), names);
  return fail(ErrorKind::usage, "there is no option '" + std::string(word) + "'",
              near ? "did you mean '" + std::string(*near) + "'?" : "put -- before the program");
}

// What --help says of an option, in one line: that has the values that it can have.
std::string help_of(std::string_view name) {
  const std::string_view usage = kLaunchUsage;
  const auto begin = usage.find("\n  " + std::string(name)) + 1;
  std::string help;
  for (const std::string_view line : split(usage.substr(begin), '\n')) {
    const bool is_of_next = !help.empty() && !line.starts_with("      ");
    if (line.empty() || is_of_next) break;
    for (const std::string_view word : split(line, ' '))
      if (!word.empty()) help.append(help.empty() ? "" : " ").append(word);
  }
  return help;
}

Result<void> check(const LaunchOptions& options) {
  const bool is_dry = options.action == Action::dry_run;
  if (is_dry && options.ranks == 0)
    return fail(ErrorKind::usage, "--dry-run needs the number of ranks", "--ranks=N");
  if (is_dry && !options.program.empty()) return fail(ErrorKind::usage, "--dry-run runs no program");
  if (!is_dry && (options.ranks != 0 || options.gpus || options.cpus))
    return fail(ErrorKind::usage, "--ranks, --gpus and --cpus are for --dry-run");
  if (options.is_child && (options.env_spec || options.shape))
    return fail(ErrorKind::usage, "--child takes environment and shape from the task that started it");
  if (options.action == Action::launch && options.program.empty())
    return fail(ErrorKind::usage, "there is no program to run", "pinstep-launch --help");
  return {};
}

}  // namespace

Result<LaunchOptions> parse_launch_options(const std::vector<std::string>& arguments) {
  LaunchOptions options;
  std::size_t i = 0;
  bool has_ended = false;
  for (; i < arguments.size() && arguments[i].starts_with('-'); ++i) {
    const std::string_view word = arguments[i];
    if (word == "--") {
      ++i;
      has_ended = true;
      break;
    }
    const auto halves = split_once(word, '=');
    const std::string_view name = halves ? halves->before : word;
    const auto option = std::find_if(kOptions.begin(), kOptions.end(),
                                     [&](const Option& candidate) { return candidate.name == name; });
    if (option == kOptions.end() || (halves && !option->has_value)) return unknown(word);
    std::string value(halves ? halves->after : "");
    if (option->has_value && !halves) {
      if (i + 1 == arguments.size())
        return fail(ErrorKind::usage, "option '" + std::string(name) + "' needs a value");
      value = arguments[++i];
    }
    if (!option->take(options, value))
      return fail(ErrorKind::usage, "option '" + std::string(name) + "' cannot be '" + value + "'",
                  help_of(name));
    if (options.action == Action::help || options.action == Action::version) return options;
  }
  options.program.assign(arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
  if (!has_ended && !options.program.empty() && options.program[0] == "verify") {
    options.verifies = true;
    options.program[0] = "pinstep-verify";
  }
  if (const auto fits = check(options); !fits) return tl::unexpected(fits.error());
  return options;
}

}  // namespace pinstep
