// pinstep-map: finds out what the node has and prints the map of a step on standard output, in the form
// of launcher/mapfile; with --draw=TITLE it reads that form from standard input and prints the picture. Called
// by pinstep-launch only, which does not link hwloc.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <string>

#include "envtools/base/fd.h"
#include "envtools/base/process.h"
#include "envtools/base/text.h"
#include "launcher/allowed/visible.h"
#include "launcher/assign/make_map.h"
#include "launcher/picture/picture.h"
#include "launcher/topology/kernel_files.h"
#include "launcher/topology/topology.h"
#include "launcher/topology/write_nccl.h"

namespace pinstep {
namespace {

constexpr std::size_t kMostInput = 1 << 20;

struct Options {
  std::string topology;
  std::string proc = "/proc";
  std::uint32_t ranks = 1;
  std::optional<std::uint32_t> gpus_per_rank;
  std::optional<Bits> gpus;                         // device numbers
  std::optional<Bits> opens;                        // device numbers that the ranks can open
  std::optional<std::vector<Bits>> rank_gpus;       // device numbers of each rank
  std::optional<std::vector<std::string>> visible;  // CUDA_VISIBLE_DEVICES of each rank, or one for all
  std::string nccl_file;                            // to write; empty: none
  std::optional<Bits> cpus;
  bool deals_cores = true;
  bool ignores_link = false;
  std::uint32_t system_cores = 0;
  bool scores = false;
  std::optional<std::string> picture;  // its title
};

// "=0,1/=1,0", the pieces percent-escaped.
std::optional<std::vector<std::string>> parse_lists(std::string_view text) {
  std::vector<std::string> lists;
  for (const std::string_view piece : split(text, '/')) {
    const auto list = piece.starts_with('=') ? percent_decode(piece.substr(1)) : std::nullopt;
    if (!list) return std::nullopt;
    lists.push_back(*list);
  }
  return lists;
}

Result<Options> parse_options(const std::vector<std::string>& arguments) {
  Options options;
  const auto bits = [](std::string_view text) { return text == "none" ? Bits() : Bits::parse(text); };
  for (const std::string& argument : arguments) {
    const auto halves = split_once(argument, '=').value_or(Halves{argument, ""});
    const std::string_view value = halves.after;
    const auto number = parse_number<std::uint32_t>(value);
    bool good = true;
    if (halves.before == "--topology") {
      options.topology = value;
    } else if (halves.before == "--proc") {
      options.proc = value;
    } else if (halves.before == "--ranks") {
      good = number && *number >= 1 && *number <= 4096;
      options.ranks = number.value_or(1);
    } else if (halves.before == "--gpus-per-rank") {
      good = number && *number >= 1;
      options.gpus_per_rank = number;
    } else if (halves.before == "--gpus") {
      options.gpus = bits(value);
      good = options.gpus.has_value();
    } else if (halves.before == "--opens") {
      options.opens = bits(value);
      good = options.opens.has_value();
    } else if (halves.before == "--rank-gpus") {
      options.rank_gpus.emplace();
      for (const std::string_view piece : split(value, '/')) {
        const auto set = bits(piece);
        good = good && set;
        options.rank_gpus->push_back(set.value_or(Bits()));
      }
    } else if (halves.before == "--visible") {
      options.visible = parse_lists(value);
      good = options.visible.has_value();
    } else if (halves.before == "--nccl-file") {
      options.nccl_file = value;
    } else if (halves.before == "--cpus") {
      options.cpus = Bits::parse(value);
      good = options.cpus.has_value();
    } else if (halves.before == "--system-cores") {
      good = number.has_value();
      options.system_cores = number.value_or(0);
    } else if (halves.before == "--draw") {
      options.picture = value;
    } else if (argument == "--score") {
      options.scores = true;
    } else if (argument == "--no-cores") {
      options.deals_cores = false;
    } else if (argument == "--ignore-link") {
      options.ignores_link = true;
    } else {
      return fail(ErrorKind::usage, "there is no option '" + argument + "'");
    }
    if (!good) return fail(ErrorKind::usage, "'" + argument + "' is wrong");
  }
  if (options.rank_gpus && options.rank_gpus->size() != options.ranks)
    return fail(ErrorKind::usage, "--rank-gpus is for another number of ranks");
  if (options.visible && options.visible->size() == 1)
    options.visible->resize(options.ranks, options.visible->front());
  if (options.visible && options.visible->size() != options.ranks)
    return fail(ErrorKind::usage, "--visible is for another number of ranks");
  return options;
}

// Device numbers and UUIDs by the driver; where it does not know these GPUs, numbers in bus order.
std::vector<std::uint32_t> number_devices(Machine& machine, const std::string& proc) {
  const auto known = nvidia_devices(proc);
  std::vector<std::uint32_t> numbers;
  for (Gpu& gpu : machine.gpus) {
    const auto found = known.find(gpu.address);
    if (found == known.end()) return {};
    gpu.uuid = found->second.uuid;
    numbers.push_back(found->second.number);
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
    const Options& options, const Machine& machine, const std::optional<std::vector<std::size_t>>& openable) {
  std::vector<NamedGpu> named;
  std::vector<std::size_t> all;
  for (const Gpu& gpu : machine.gpus) {
    all.push_back(named.size());
    named.push_back({gpu.uuid, {}});
  }
  return visible_gpus_of_ranks(*options.visible, options.gpus_per_rank, named, openable.value_or(all));
}

// Ranks that wait for the map find the file whole, and it is there before the map is.
Result<void> write_aside(const std::string& path, std::string_view text) {
  const std::string aside = path + "." + std::to_string(::getpid());
  const UniqueFd file(::open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (!file.valid()) return fail_errno(errno, "make", aside);
  if (!write_all(file.get(), text)) return fail_errno(errno, "write", aside);
  if (::rename(aside.c_str(), path.c_str()) != 0) return fail_errno(errno, "rename", aside);
  return {};
}

Result<NodeMap> map_node(const Options& options) {
  auto machine = read_machine(options.topology);
  if (!machine) return tl::unexpected(machine.error());
  MapRequest request;
  request.ranks = options.ranks;
  request.gpus_per_rank = options.gpus_per_rank;
  request.ignores_link = options.ignores_link;
  request.deals_cores = options.deals_cores;
  request.system_cores = options.system_cores;
  request.scores = options.scores;
  request.device_numbers = number_devices(*machine, options.proc);
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

Result<std::string> draw(const Options& options) {
  const auto text = read_input();
  if (!text) return tl::unexpected(text.error());
  const auto map = parse_map(*text);
  if (!map) return tl::unexpected(map.error());
  auto machine = read_machine(options.topology);
  if (!machine) return tl::unexpected(machine.error());
  if (options.cpus) machine->allowed.keep(*options.cpus);
  return draw_node(*machine, *map, *options.picture);
}

Result<std::string> result(const Options& options) {
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
  const auto options = pinstep::parse_options({argv + 1, argv + argc});
  if (!options) return pinstep::report(options.error());
  const auto text = pinstep::result(*options);
  if (!text) return pinstep::report(text.error());
  std::fputs(text->c_str(), stdout);
  return 0;
}
