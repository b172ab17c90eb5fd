// What a verb prints: lines for people, or one JSON object per line.
#pragma once

#include <string>

#include "envtools/json/json.h"
#include "launcher/worker/train/session.h"

namespace pinstep::worker {

enum class Form { text, json };

std::string json_line(const Json& json);
// An error: the lines for people begin with the program's name.
std::string lines_of(const Ending& ending, Form form);

// To standard output, at once. Where that fails, says so on standard error, once.
void print(const std::string& text);
// Whether any of it could not be written: the verb then ends with an exit code that says so.
bool is_output_lost();

}  // namespace pinstep::worker
