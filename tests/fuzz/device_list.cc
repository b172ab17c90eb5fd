// CUDA_VISIBLE_DEVICES: whatever it says, each rank gets GPUs that can be opened, and none where it is refused;
// a rank's report of it is read as it was written.
#include <algorithm>

#include "launcher/allowed/allowed.h"
#include "launcher/allowed/visible.h"
#include "tests/fuzz/check.h"

using namespace pinstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::vector<NamedGpu> gpus{
      {"GPU-aa11", {"MIG-1-0", "MIG-1-1"}}, {"GPU-aa22", {}}, {"GPU-bb", {"MIG-3"}}, {}};
  static const std::vector<std::size_t> openable{0, 2, 3};
  std::string_view input = fuzz::as_text(data, size);
  const std::string first(fuzz::take_text(input));
  const std::string second(fuzz::take_text(input));

  const VisibleGpus visible = find_visible(first, gpus, openable);
  const auto can_be_opened = [](std::size_t gpu) {
    return std::find(openable.begin(), openable.end(), gpu) != openable.end();
  };
  CHECK(std::all_of(visible.gpus.begin(), visible.gpus.end(), can_be_opened));
  for (const auto& lists : {std::vector{first}, std::vector{first, second}, std::vector{first, first, first}}) {
    const auto of_ranks = visible_gpus_of_ranks(lists, {}, gpus, openable);
    if (!of_ranks) continue;
    CHECK(visible.unknown.empty());
    CHECK(of_ranks->size() == lists.size());
    for (const auto& rank : *of_ranks) CHECK(std::all_of(rank.begin(), rank.end(), can_be_opened));
    if (lists.size() == 1) CHECK(of_ranks->front() == visible.gpus);
  }

  const GpuReport said{{0, 2}, std::nullopt, first};
  CHECK(GpuReport::parse(said.text()) == said);
  if (const auto report = GpuReport::parse(first)) CHECK(GpuReport::parse(report->text()) == report);
  return 0;
}
