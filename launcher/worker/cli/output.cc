#include "launcher/worker/cli/output.h"

#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>

#include "envtools/base/fd.h"

namespace pinstep::worker {

std::string json_line(const Json& json) { return dump_json(json) + "\n"; }

std::string lines_of(const Ending& ending, Form form) {
  if (form == Form::json) {
    Json json{{"event", ending.outcome == Outcome::stopped ? "stop" : "error"}};
    json.update(json_of(ending.error));
    json["ranks"] = ending.ranks;
    return json_line(json);
  }
  const bool is_error = ending.outcome != Outcome::stopped;
  std::string text = (is_error ? "pinstep-worker: error: " : "pinstep-worker: ") + ending.error.cause + "\n";
  if (!ending.error.hint.empty()) text += "pinstep-worker: hint: " + ending.error.hint + "\n";
  return text;
}

void print(const std::string& text) {
  const bool was_lost = is_output_lost();
  errno = 0;
  if ((std::fputs(text.c_str(), stdout) >= 0 && std::fflush(stdout) == 0) || was_lost) return;
  write_message(STDERR_FILENO, std::string("pinstep-worker: error: cannot write to standard output: ") +
                                   std::strerror(errno) + "\n");
}

bool is_output_lost() { return std::ferror(stdout) != 0; }

}  // namespace pinstep::worker
