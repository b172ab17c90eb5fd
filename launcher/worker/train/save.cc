#include "launcher/worker/train/save.h"

#include <sys/stat.h>

#include <cerrno>

#include "envtools/json/json.h"
#include "launcher/worker/data/npy.h"
#include "launcher/worker/try.h"

namespace pinstep::worker {
namespace {

Result<void> make_directory(const std::string& path) {
  if (::mkdir(path.c_str(), 0777) == 0 || errno == EEXIST) return {};
  return fail_errno(errno, "make directory", path);
}

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
  return {{"model", run.model},      {"image", image},    {"channels", channels},
          {"sizes", sizes},          {"mean", kMeanGrey}, {"deviation", kDeviationGrey},
          {"accuracy", run.accuracy}};
}

}  // namespace

Result<void> save(const std::string& directory, const SavedRun& run) {
  const std::string own = directory + "/rank-" + std::to_string(run.rank);
  PINSTEP_TRY(make_directory(directory));
  PINSTEP_TRY(make_directory(own));
  for (const Parameter& parameter : run.parameters)
    PINSTEP_TRY(write_whole(own + "/" + parameter.name + ".npy", npy_head("<f4", parameter.shape),
                            bytes(run.values.data() + parameter.offset, parameter.count)));
  PINSTEP_TRY(write_whole(own + "/samples.npy", npy_head("<u4", {run.samples.size()}),
                          bytes(run.samples.data(), run.samples.size())));
  return write_whole(own + "/model.json", dump_json(json_of(run), 2) + "\n", "");
}

}  // namespace pinstep::worker
