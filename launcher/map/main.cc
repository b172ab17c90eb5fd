// pinstep-map: finds out what the node has and prints the map of a step on standard output, in the form
// of launcher/mapfile; with --draw=TITLE it reads that form from standard input and prints the picture. Called
// by pinstep-launch only, which does not link hwloc.
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string>

#include "envtools/base/fd.h"
#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "launcher/allowed/visible.h"
#include "launcher/assign/make_map.h"
#include "launcher/launch/map_program.h"
#include "launcher/map/options.h"
#include "launcher/picture/picture.h"
#include "launcher/topology/write_nccl.h"

namespace pinstep {
namespace {

constexpr std::size_t kMostInput = 1 << 20;

// As the driver numbers the devices; where it does not know one, in bus order.
std::vector<std::uint32_t> device_numbers(const Machine& machine) {
  std::vector<std::uint32_t> numbers;
  for (const Gpu& gpu : machine.gpus) {
    if (!gpu.number) return {};
    numbers.push_back(*gpu.number);
  }
  return numbers;
}

Result<std::vector<std::size_t>> indices(const Bits& devices, const Machine& machine,
                                         const std::vector<std::uint32_t>& numbers) {
  std::vector<std::size_t> found;
  for (const std::uint32_t device : devices.numbers()) {
    std::size_t index = 0;
    while (index < machine.gpus.size() && (numbers.empty() ? index : numbers[index]) != device) ++index;
    if (index == machine.gpus.size())
      return fail(ErrorKind::invalid, "there is no GPU " + std::to_string(device) + " among the " +
                                          std::to_string(machine.gpus.size()) + " of this node");
    found.push_back(index);
  }
  return found;
}

Result<std::vector<std::vector<std::size_t>>> chosen_gpus(
    const MapOptions& options, const Machine& machine,
    const std::optional<std::vector<std::size_t>>& openable) {
  std::vector<NamedGpu> named;
  std::vector<std::size_t> all;
  for (const Gpu& gpu : machine.gpus) {
    all.push_back(named.size());
    named.push_back({gpu.uuid, gpu.instances});
  }
  return visible_gpus_of_ranks(*options.visible, options.gpus_per_rank, named, openable.value_or(all));
}

// Ranks that wait for the map find the file whole, and it is there before the map is.
Result<void> write_aside(const std::string& path, std::string_view text) {
  const std::string aside = path + "." + std::to_string(::getpid());
  const UniqueFd file(::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return fail_errno(errno, "make", aside);
  if (::fchmod(file.get(), 0600) != 0) return fail_errno(errno, "set the mode of", aside);
  if (!write_all(file.get(), text)) return fail_errno(errno, "write", aside);
  if (::rename(aside.c_str(), path.c_str()) != 0) return fail_errno(errno, "rename", aside);
  return {};
}

// A list of cards to use that leaves none.
void doubt_list(const MapOptions& options, Machine& machine) {
  const NicRules& rules = options.nic_rules;
  if (!rules.list || rules.list->excludes()) return;
  const bool counts = !rules.list_is_nccls || std::any_of(machine.nics.begin(), machine.nics.end(),
                                                          [](const Nic& nic) { return nic.has_verbs; });
  if (counts && choose_nics(machine.nics, rules).used.empty())
    machine.doubts.push_back("none of the network cards of " + rules.list_name + " can be used here");
}

// Where ranks have GPUs of their own, by Slurm or by the user, --gpus-per-rank cannot give them others.
void doubt_numbers(const MapOptions& options, const MapRequest& request, Machine& machine) {
  if (!options.gpus_per_rank || !request.gpus_of_rank) return;
  for (const auto& of_rank : *request.gpus_of_rank)
    if (of_rank.size() != *options.gpus_per_rank) {
      machine.doubts.push_back("a rank has " + std::to_string(of_rank.size()) + " GPUs of its own, not the " +
                               std::to_string(*options.gpus_per_rank) + " of --gpus-per-rank");
      return;
    }
}

Result<NodeMap> map_node(const MapOptions& options) {
  auto machine = read_machine(options.sources);
  if (!machine) return tl::unexpected(machine.error());
  machine->doubts.insert(machine->doubts.end(), options.doubts.begin(), options.doubts.end());
  doubt_list(options, *machine);
  MapRequest request;
  request.ranks = options.ranks;
  request.gpus_per_rank = options.gpus_per_rank;
  request.nic_rules = options.nic_rules;
  request.deals_cores = options.deals_cores;
  request.system_cores = options.system_cores;
  request.scores = options.scores;
  request.device_numbers = device_numbers(*machine);
  if (options.cpus) machine->allowed.keep(*options.cpus);
  if (options.gpus) {
    auto gpus = indices(*options.gpus, *machine, request.device_numbers);
    if (!gpus) return tl::unexpected(gpus.error());
    request.gpus = std::move(*gpus);
  }
  if (options.opens) {
    auto gpus = indices(*options.opens, *machine, request.device_numbers);
    if (!gpus) return tl::unexpected(gpus.error());
    request.openable = std::move(*gpus);
  }
  if (options.rank_gpus) {
    request.gpus_of_rank.emplace();
    for (const Bits& devices : *options.rank_gpus) {
      auto gpus = indices(devices, *machine, request.device_numbers);
      if (!gpus) return tl::unexpected(gpus.error());
      request.gpus_of_rank->push_back(std::move(*gpus));
    }
  }
  if (options.visible) {
    auto gpus = chosen_gpus(options, *machine, request.openable);
    if (!gpus) return tl::unexpected(gpus.error());
    request.gpus_of_rank = std::move(*gpus);
  }
  doubt_numbers(options, request, *machine);
  if (options.is_strict && !machine->doubts.empty())
    return fail(ErrorKind::corrupt, machine->doubts.front(),
                "without --strict the map is made as far as it can be");
  if (!options.nccl_file.empty())
    if (const auto done = write_aside(options.nccl_file, write_nccl_topology(*machine)); !done)
      return tl::unexpected(done.error());
  auto map = make_map(*machine, request);
  // What users choose is no isolation.
  if (map) map->isolated = options.rank_gpus.has_value();
  return map;
}

Result<std::string> read_input() {
  std::string text;
  char buffer[1 << 14];
  for (;;) {
    const ssize_t count = ::read(STDIN_FILENO, buffer, sizeof buffer);
    if (count == 0) return text;
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 || text.size() > kMostInput)
      return fail(ErrorKind::os, "pinstep-map cannot read the map to be drawn");
    text.append(buffer, static_cast<std::size_t>(count));
  }
}

Result<std::string> draw(const MapOptions& options) {
  const auto text = read_input();
  if (!text) return tl::unexpected(text.error());
  const auto map = parse_map(*text);
  if (!map) return tl::unexpected(map.error());
  auto machine = read_machine(options.sources);
  if (!machine) return tl::unexpected(machine.error());
  if (options.cpus) machine->allowed.keep(*options.cpus);
  return draw_node(*machine, *map, *options.picture);
}

Result<std::string> result(const MapOptions& options) {
  if (options.picture) return draw(options);
  const auto map = map_node(options);
  if (!map) return tl::unexpected(map.error());
  return write_map(*map);
}

// pinstep-launch says it: "error <kind> <cause> <hint>", the texts escaped.
int report(const Error& error) {
  std::printf("error %s %s %s\n", std::string(to_string(error.kind)).c_str(),
              percent_encode(error.cause, "").c_str(), percent_encode(error.hint, "").c_str());
  return 1;
}

}  // namespace
}  // namespace pinstep

int main(int argc, char** argv) {
  ::alarm(pinstep::kMapSeconds);
  const auto options = pinstep::parse_map_options({argv + 1, argv + argc});
  if (!options) return pinstep::report(options.error());
  const auto text = pinstep::result(*options);
  if (!text) return pinstep::report(text.error());
  std::fputs(text->c_str(), stdout);
  return std::fflush(stdout) == 0 ? 0 : 1;
}
