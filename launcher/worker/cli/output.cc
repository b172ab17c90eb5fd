#include "launcher/worker/cli/output.h"

#include <cstdio>

namespace pinstep::worker {

std::string json_line(const Json& json) { return dump_json(json) + "\n"; }

std::string lines_of(const Ending& ending, Form form) {
  if (form == Form::json) {
    Json json{{"event", "error"}};
    json.update(json_of(ending.error));
    json["ranks"] = ending.ranks;
    return json_line(json);
  }
  std::string text = "pinstep-worker: error: " + ending.error.cause + "\n";
  if (!ending.error.hint.empty()) text += "pinstep-worker: hint: " + ending.error.hint + "\n";
  return text;
}

void print(const std::string& text) {
  std::fputs(text.c_str(), stdout);
  std::fflush(stdout);
}

}  // namespace pinstep::worker
