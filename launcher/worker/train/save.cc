#include "launcher/worker/train/save.h"

#include <filesystem>

#include "envtools/base/text.h"
#include "envtools/json/json.h"
#include "launcher/worker/data/npy.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kRank = "rank-";

template <class T>
std::string_view bytes(const T* values, std::size_t count) {
  return {reinterpret_cast<const char*>(values), count * sizeof(T)};
}

Json json_of(const SavedRun& run) {
  Json image = Json::array(), channels = Json::array(), sizes = Json::array();
  for (const LayerPlan& layer : run.layers) {
    if (const auto* linear = std::get_if<LinearPlan>(&layer)) {
      if (sizes.empty()) sizes.push_back(linear->inputs);
      sizes.push_back(linear->outputs);
    } else {
      const auto& convolution = std::get<ConvolutionPlan>(layer);
      if (image.empty()) image = {convolution.rows, convolution.columns};
      channels.push_back(convolution.outputs);
    }
  }
  return {{"ranks", run.ranks},          {"model", run.model},      {"image", image},
          {"channels", channels},        {"sizes", sizes},          {"mean", kMeanGrey},
          {"deviation", kDeviationGrey}, {"accuracy", run.accuracy}};
}

std::string own_of(const std::string& directory, std::uint32_t rank) {
  return directory + "/" + std::string(kRank) + std::to_string(rank);
}

bool is_layer(std::string_view name) { return name.starts_with("layer") && name.ends_with(".npy"); }

// Of what save() writes, and nothing else: a user's own files stay.
template <class Which>
void remove_saved(const fs::path& directory, Which which) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename();
    const bool is_ours = is_layer(name) || name == "samples.npy" || name == "model.json";
    if (is_ours && which(name)) fs::remove(entry.path(), ignored);
  }
}

// Of an earlier run: ranks that only it had, and layers. Nobody is to take them for this one's.
void remove_former(const std::string& directory, const SavedRun& run) {
  std::error_code ignored;
  remove_saved(own_of(directory, run.rank), is_layer);
  if (run.rank != 0) return;
  for (const auto& entry : fs::directory_iterator(directory, ignored)) {
    const std::string name = entry.path().filename();
    if (!name.starts_with(kRank)) continue;
    const auto rank = parse_number<std::uint32_t>(std::string_view(name).substr(kRank.size()));
    if (!rank || *rank < run.ranks) continue;
    remove_saved(entry.path(), [](std::string_view) { return true; });
    fs::remove(entry.path(), ignored);
  }
}

}  // namespace

Result<void> prepare_save(const std::string& directory, std::uint32_t rank) {
  PINSTEP_TRY(prepare_directory(directory));
  return prepare_directory(own_of(directory, rank));
}

Result<void> save(const std::string& directory, const SavedRun& run) {
  const std::string own = own_of(directory, run.rank);
  PINSTEP_TRY(prepare_save(directory, run.rank));
  remove_former(directory, run);
  for (const Parameter& parameter : run.parameters)
    PINSTEP_TRY(write_whole(own + "/" + parameter.name + ".npy", npy_head("<f4", parameter.shape),
                            bytes(run.values.data() + parameter.offset, parameter.count)));
  PINSTEP_TRY(write_whole(own + "/samples.npy", npy_head("<u4", {run.samples.size()}),
                          bytes(run.samples.data(), run.samples.size())));
  return write_whole(own + "/model.json", dump_json(json_of(run), 2) + "\n", "");
}

}  // namespace pinstep::worker
