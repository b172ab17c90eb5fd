#include "launcher/map/options.h"

#include "envtools/base/text.h"

namespace pinstep {
namespace {

// The user's own variable, which NCCL reads as well: what is wrong in it must not keep the program from
// starting.
void take_nccls_list(std::string_view text, MapOptions& options) {
  auto list = NicList::parse(text);
  if (!list) {
    options.doubts.push_back("NCCL_IB_HCA: " + list.error().cause);
    return;
  }
  options.nic_rules.list = std::move(*list);
  options.nic_rules.list_name = "NCCL_IB_HCA";
  options.nic_rules.list_is_nccls = true;
}

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

}  // namespace

Result<MapOptions> parse_map_options(const std::vector<std::string>& arguments) {
  MapOptions options;
  const auto bits = [](std::string_view text) { return text == "none" ? Bits() : Bits::parse(text); };
  for (const std::string& argument : arguments) {
    const auto halves = split_once(argument, '=').value_or(Halves{argument, ""});
    const std::string_view value = halves.after;
    const auto number = parse_number<std::uint32_t>(value);
    bool good = true;
    if (halves.before == "--topology") {
      options.sources.topology = value;
    } else if (halves.before == "--nccl-topology") {
      options.sources.nccl = value;
    } else if (halves.before == "--users-nccl-topology") {
      options.sources.users_nccl = value;
    } else if (halves.before == "--nvml") {
      options.sources.nvml = value;
    } else if (halves.before == "--proc") {
      options.sources.proc = value;
    } else if (halves.before == "--nics") {
      auto list = NicList::parse(value);
      if (!list) return tl::unexpected(list.error());
      options.nic_rules.list = std::move(*list);
    } else if (halves.before == "--nccl-ib-hca") {
      take_nccls_list(value, options);
    } else if (argument == "--strict") {
      options.is_strict = true;
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
      options.nic_rules.ignores_link = true;
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

}  // namespace pinstep
