#include "launcher/allowed/visible.h"

#include <algorithm>
#include <cstdint>

#include "envtools/base/text.h"

namespace pinstep {
namespace {

constexpr std::string_view kGpu = "GPU-";
constexpr std::string_view kInstance = "MIG-";
constexpr std::string_view kInstanceOfGpu =
    "MIG-GPU-";  // drivers before 470: MIG-GPU-<uuid>/<instance>/<instance>

template <class Matches>
std::optional<std::size_t> only_one(const std::vector<std::size_t>& openable, Matches matches) {
  std::optional<std::size_t> found;
  for (const std::size_t gpu : openable) {
    if (!matches(gpu)) continue;
    if (found) return std::nullopt;
    found = gpu;
  }
  return found;
}

std::optional<std::size_t> find_gpu(std::string_view name, const std::vector<NamedGpu>& gpus,
                                    const std::vector<std::size_t>& openable) {
  if (const auto index = parse_number<std::uint32_t>(name))
    return *index < openable.size() ? std::optional(openable[*index]) : std::nullopt;
  if (name.starts_with(kInstanceOfGpu)) {
    const std::string_view uuid = name.substr(kInstance.size(), name.find('/') - kInstance.size());
    return only_one(openable, [&](std::size_t gpu) { return gpus[gpu].uuid == uuid; });
  }
  if (name.starts_with(kInstance))
    return only_one(openable, [&](std::size_t gpu) {
      const auto& all = gpus[gpu].instances;
      return std::any_of(all.begin(), all.end(), [&](const auto& one) { return one.starts_with(name); });
    });
  if (name.starts_with(kGpu) && name.size() > kGpu.size())
    return only_one(openable, [&](std::size_t gpu) { return gpus[gpu].uuid.starts_with(name); });
  return std::nullopt;
}

bool means_the_end(std::string_view name) { return name == "NoDevFiles" || name == "-1" || name.empty(); }

}  // namespace

VisibleGpus find_visible(std::string_view list, const std::vector<NamedGpu>& gpus,
                         const std::vector<std::size_t>& openable) {
  VisibleGpus visible;
  for (const std::string_view piece : split(list, ',')) {
    const std::string_view name = trim(piece);
    const auto gpu = find_gpu(name, gpus, openable);
    if (!gpu) {
      if (!means_the_end(name)) visible.unknown = name;
      break;
    }
    visible.gpus.push_back(*gpu);
  }
  return visible;
}

Result<std::vector<std::vector<std::size_t>>> visible_gpus_of_ranks(const std::vector<std::string>& lists,
                                                                    std::optional<std::size_t> each,
                                                                    const std::vector<NamedGpu>& gpus,
                                                                    const std::vector<std::size_t>& openable) {
  std::vector<std::vector<std::size_t>> of_ranks;
  for (const std::string& list : lists) {
    VisibleGpus visible = find_visible(list, gpus, openable);
    if (!visible.unknown.empty())
      return fail(ErrorKind::invalid,
                  "'" + visible.unknown + "' of CUDA_VISIBLE_DEVICES=" + list + " is none of this node's GPUs",
                  "unset it, and the ranks get the GPUs that Slurm gave the step");
    of_ranks.push_back(std::move(visible.gpus));
  }
  const bool is_one =
      std::all_of(lists.begin(), lists.end(), [&](const auto& list) { return list == lists[0]; });
  const std::vector<std::size_t> all = lists.empty() ? std::vector<std::size_t>{} : of_ranks.front();
  if (!is_one || all.empty()) return of_ranks;
  const std::size_t count = each.value_or(lists.size() == 1 ? all.size() : 1);
  if (count > 1 && count * lists.size() > all.size())
    return fail(ErrorKind::invalid, std::to_string(lists.size()) + " ranks with " + std::to_string(count) +
                                        " GPUs each need more than the " + std::to_string(all.size()) +
                                        " of CUDA_VISIBLE_DEVICES");
  for (std::size_t rank = 0; rank < of_ranks.size(); ++rank) {
    of_ranks[rank].clear();
    for (std::size_t i = 0; i < count; ++i) of_ranks[rank].push_back(all[(rank * count + i) % all.size()]);
  }
  return of_ranks;
}

}  // namespace pinstep
