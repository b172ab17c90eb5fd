// JSON at the edges between our programs, by nlohmann's library; what several contracts share.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "envtools/base/error.h"

namespace pinstep {

// Objects keep the order they are written in, so that output is the same everywhere.
using Json = nlohmann::ordered_json;

// {"kind": "…", "cause": "…", "hint": "…"} and back; an unknown kind reads as `os`.
Json json_of(const Error& error);
Error error_of(const Json& json);

// Errors: invalid, "SUBJECT is not JSON: …" with the position.
Result<Json> parse_json(std::string_view text, std::string_view subject);

// A member, or "" and `otherwise` where it is missing or of another type: files of others have all of these.
std::string text_of(const Json& object, const char* key);
std::uint64_t number_of(const Json& object, const char* key, std::uint64_t otherwise = 0);

// dump() that never throws: text that is no UTF-8 is replaced character by character.
std::string dump_json(const Json& json, int indent = -1);

}  // namespace pinstep
