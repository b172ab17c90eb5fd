#include "launcher/allowed/allowed.h"

#include <algorithm>

#include "envtools/base/text.h"
#include "launcher/step/nodelist.h"

namespace pinstep {
namespace {

constexpr std::size_t kMostNodes = 100'000;  // as launcher/step has it

// The masks "0x3,0xc"; nothing if one of them is none.
std::optional<std::vector<Bits>> parse_masks(std::string_view list) {
  std::vector<Bits> masks;
  for (const std::string_view mask : split(list, ',')) {
    const auto bits = Bits::parse_mask(mask);
    if (!bits) return std::nullopt;
    masks.push_back(*bits);
  }
  return masks;
}

Bits all_of(const std::vector<Bits>& masks) {
  Bits all;
  for (const Bits& mask : masks) all.add(mask);
  return all;
}

bool do_meet(const std::vector<Bits>& masks) {
  std::size_t count = 0;
  for (const Bits& mask : masks) count += mask.count();
  return count != all_of(masks).count();
}

// Whether Slurm has computed the masks, and has done so without being told how (NOTES.md in launcher/step).
bool is_automatic(std::string_view type, std::string_view list, const std::vector<Bits>& masks) {
  if (!type.starts_with("mask_cpu")) return false;  // "cores,mask_cpu:" and the like
  for (const std::string_view mask : split(list, ','))
    if (!mask.starts_with("0x")) return false;
  return !do_meet(masks);
}

// "0,1,2": what Slurm writes where it constrains devices, whichever they are.
std::string counted_from_0(std::size_t count) {
  std::string list;
  for (std::size_t i = 0; i < count; ++i) list += (i == 0 ? "" : ",") + std::to_string(i);
  return list;
}

std::string text_or_dash(const Bits& bits) { return bits.empty() ? "-" : bits.text(); }

// Nothing where ranks share GPUs, or have different numbers of them.
std::optional<std::uint32_t> number_of_each(const std::vector<GpuReport>& reports, const Bits& all) {
  const std::size_t each = reports.front().given->count();
  for (const GpuReport& report : reports)
    if (report.given->count() != each) return std::nullopt;
  if (each == 0 || each * reports.size() != all.count()) return std::nullopt;
  return static_cast<std::uint32_t>(each);
}

}  // namespace

StepCpus step_cpus(const Environment& environment, const Bits& affinity, std::uint32_t local_size) {
  constexpr auto users = "srun's --cpu-bind or SLURM_CPU_BIND has bound the ranks";
  if (local_size == 1) return {affinity, {}};
  const std::string_view type = environment.get("SLURM_CPU_BIND_TYPE").value_or("");
  const std::string_view list = environment.get("SLURM_CPU_BIND_LIST").value_or("");
  const bool has_masks = type.find("mask_cpu") != std::string_view::npos;
  // An entity without masks: nothing was bound.
  for (const std::string_view unbound : {"", "none", "threads", "cores", "sockets", "ldoms"})
    if (!has_masks && type.substr(0, type.find(',')) == unbound) return {affinity, {}};
  if (!has_masks) return {std::nullopt, users, true};
  const auto masks = parse_masks(list);
  if (masks && !is_automatic(type, list, *masks)) return {std::nullopt, users, true};
  if (masks && affinity.is_within(all_of(*masks))) return {all_of(*masks), {}};
  return {std::nullopt, "the processors of the step's other ranks are not known"};
}

std::string GpuReport::text() const {
  return text_or_dash(opens) + " " + (given ? given->empty() ? "none" : given->text() : "-") + " " +
         (visible ? "=" + percent_encode(*visible, "") : "-");
}

std::optional<GpuReport> GpuReport::parse(std::string_view text) {
  const auto words = split(text, ' ');
  if (words.size() != 3) return std::nullopt;
  GpuReport report;
  const auto opens = words[0] == "-" ? Bits() : Bits::parse(words[0]);
  if (!opens || words[0].empty()) return std::nullopt;
  report.opens = *opens;
  if (words[1] != "-") {
    report.given = words[1] == "none" ? Bits() : Bits::parse(words[1]);
    if (!report.given || words[1].empty()) return std::nullopt;
  }
  if (words[2] != "-") {
    if (words[2].starts_with('=')) report.visible = percent_decode(words[2].substr(1));
    if (!report.visible) return std::nullopt;
  }
  return report;
}

bool is_slurms_choice(const Environment& environment, std::string_view name) {
  const auto visible = environment.get(name);
  const auto given = environment.get("SLURM_STEP_GPUS");
  if (visible == "NoDevFiles") return true;
  if (!visible || !given) return false;
  return *visible == *given || *visible == counted_from_0(split(*given, ',').size());
}

GpuReport gpu_report(const Environment& environment, const Bits& opens) {
  constexpr auto name = "CUDA_VISIBLE_DEVICES";
  GpuReport report{opens, std::nullopt, std::nullopt};
  if (const auto given = environment.get("SLURM_STEP_GPUS")) report.given = Bits::parse(*given);
  if (const auto visible = environment.get(name); visible && !is_slurms_choice(environment, name))
    report.visible = std::string(*visible);
  return report;
}

NodeGpus node_gpus(const Environment& environment) {
  NodeGpus node;
  node.count = parse_number<std::uint32_t>(environment.get("SLURM_GPUS_ON_NODE").value_or(""));
  // A batch script has it from the job's first node, and its steps inherit that on all nodes.
  const auto first = expand_node_list(environment.get("SLURM_JOB_NODELIST").value_or(""), kMostNodes);
  if (first && !first->empty() && first->front() == environment.get("SLURMD_NODENAME"))
    node.numbers = Bits::parse(environment.get("SLURM_JOB_GPUS").value_or("-"));
  return node;
}

StepGpus step_gpus(const std::vector<GpuReport>& reports, const NodeGpus& node) {
  StepGpus step;
  step.opens = reports.front().opens;
  const bool all_open_the_same = std::all_of(
      reports.begin(), reports.end(), [&](const GpuReport& report) { return report.opens == step.opens; });
  if (!all_open_the_same) {
    for (const GpuReport& report : reports) step.of_rank.push_back(report.opens);
    step.opens = {};
    return step;
  }
  if (step.opens.empty()) return step;
  const auto chosen = std::count_if(reports.begin(), reports.end(),
                                    [](const GpuReport& report) { return report.visible.has_value(); });
  if (chosen == static_cast<std::ptrdiff_t>(reports.size())) {
    for (const GpuReport& report : reports) step.visible.push_back(*report.visible);
    return step;
  }
  if (chosen > 0) {
    step.why_none = "CUDA_VISIBLE_DEVICES is set for some ranks and not for others";
    return step;
  }

  Bits given;
  bool is_given = true;
  for (const GpuReport& report : reports) {
    is_given = is_given && report.given;
    if (report.given) given.add(*report.given);
  }
  std::optional<std::size_t> count = node.count;
  if (is_given) count = given.count();
  if (is_given && given.is_within(step.opens)) {
    step.gpus = given;
    step.each = number_of_each(reports, given);
  } else if (count == step.opens.count()) {
    step.gpus = step.opens;
  } else if (node.numbers && node.numbers->count() == count && node.numbers->is_within(step.opens)) {
    step.gpus = *node.numbers;
  } else if (count) {
    step.why_none = std::to_string(step.opens.count()) + " GPUs can be opened, the step has " +
                    std::to_string(*count) + ", and nothing tells which";
  }
  return step;
}

}  // namespace pinstep
