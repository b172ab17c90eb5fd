#include "envtools/activation/activation.h"
#include "envtools/base/reserved.h"
#include "envtools/json/json.h"
#include "envtools/record/recorder.h"

namespace pinstep {
namespace {

constexpr std::string_view kUnsetMark = "***unset***";  // conda's word in env_vars.d and state

bool is_recordable_name(std::string_view name) {
  constexpr std::string_view kForbidden("= \n\0", 4);
  return !name.empty() && name.find_first_of(kForbidden) == std::string_view::npos;
}

class PlainEdits {
 public:
  void set(const std::string& name, const std::string& value) { edits_.push_back({EditOp::set, name, value}); }

  Result<void> add(const std::string& name, const std::string& value, const std::string& where) {
    if (!is_recordable_name(name) || value.find('\0') != std::string::npos)
      return fail(ErrorKind::invalid, where + ": '" + name + "' cannot be an environment variable");
    if (const auto because = reserved_because(name)) {
      recording_.notes.push_back(where + ": '" + name + "' is not set: " + std::string(*because));
      return {};
    }
    if (affects_every_program(name))
      recording_.notes.push_back(where + ": '" + name + "' is set, for every program of a step");
    variables_[name] = value;
    return {};
  }

  Recording take() {
    for (const auto& [name, value] : variables_) {
      if (value == kUnsetMark)
        edits_.push_back({EditOp::unset, name, ""});
      else
        set(name, value);
    }
    recording_.edits = std::move(edits_);
    return std::move(recording_);
  }

 private:
  Recording recording_;
  std::vector<RecordedEdit> edits_;
  std::map<std::string, std::string> variables_;
};

Result<void> add_json(PlainEdits& edits, const std::string& file, const std::string& text) {
  const auto json = parse_json(text, "etc/conda/env_vars.d/" + file);
  if (!json || !json->is_object())
    return fail(ErrorKind::corrupt, "'etc/conda/env_vars.d/" + file + "' is not a JSON object");
  for (const auto& [name, value] : json->items()) {
    const std::string plain = value.is_string() ? value.get<std::string>() : dump_json(value);
    if (auto added = edits.add(name, plain, "etc/conda/env_vars.d/" + file); !added) return added;
  }
  return {};
}

}  // namespace

Result<Recording> plain_edits(const std::string& prefix, const std::map<std::string, std::string>& env_vars,
                              const std::map<std::string, std::string>& variables) {
  PlainEdits edits;
  for (const auto& [file, text] : env_vars)
    if (auto added = add_json(edits, file, text); !added) return tl::unexpected(added.error());
  for (const auto& [name, value] : variables)
    if (auto added = edits.add(name, value, "variables"); !added) return tl::unexpected(added.error());

  Recording recording = edits.take();
  const std::vector<RecordedEdit> own{{EditOp::prepend, "PATH", prefix + "/bin"},
                                      {EditOp::set, "CONDA_PREFIX", prefix},
                                      {EditOp::set, "CONDA_DEFAULT_ENV", prefix},
                                      {EditOp::set, "CONDA_SHLVL", "1"}};
  recording.edits.insert(recording.edits.begin(), own.begin(), own.end());
  return recording;
}

std::string format_recording(std::string_view id, const Recording& recording) {
  std::vector<Edit> edits;
  for (const RecordedEdit& edit : recording.edits) edits.push_back({edit.op, edit.name, edit.value});
  return format_activation(id, edits);
}

}  // namespace pinstep
