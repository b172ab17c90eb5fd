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

// To standard output, at once.
void print(const std::string& text);

}  // namespace pinstep::worker
