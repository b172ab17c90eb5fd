// Results and other values of the small library in assertions: compared whole, and readable when a test
// fails.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ostream>
#include <string>

#include "envtools/base/environment.h"
#include "envtools/base/error.h"
#include "envtools/base/text.h"

namespace pinstep {

// Found by argument-dependent lookup, hence in the namespace of what they print.
inline void PrintTo(ErrorKind kind, std::ostream* out) { *out << to_string(kind); }

inline void PrintTo(const Error& error, std::ostream* out) {
  *out << to_string(error.kind) << ": \"" << error.cause << "\" hint \"" << error.hint << '"';
}

inline void PrintTo(const Edit& edit, std::ostream* out) {
  *out << to_string(edit.op) << ' ' << percent_encode(edit.name, "");
  if (edit.op != EditOp::unset) *out << '=' << percent_encode(edit.value, "");
}

inline void PrintTo(const Environment& environment, std::ostream* out) {
  *out << '{';
  for (const std::string& entry : environment.entries()) *out << ' ' << percent_encode(entry, "");
  *out << " }";
}

template <class T>
void PrintTo(const tl::expected<T, Error>& result, std::ostream* out) {
  if (!result)
    PrintTo(result.error(), out);
  else if constexpr (std::is_void_v<T>)
    *out << "success";
  else
    *out << testing::PrintToString(*result);
}

namespace testing_support {

// A result that failed in exactly this way.
MATCHER_P3(FailsWith, kind, cause, hint, "fails: " + testing::PrintToString(Error{kind, cause, hint})) {
  return !arg.has_value() && arg.error().kind == kind && arg.error().cause == cause && arg.error().hint == hint;
}

template <class Kind>
auto FailsWith(Kind kind, std::string cause) {
  return FailsWith(kind, std::move(cause), std::string());
}

// A result that holds a value for which `inner` is true.
MATCHER_P(Holds, inner, "succeeds with the expected value") {
  return arg.has_value() && testing::ExplainMatchResult(inner, *arg, result_listener);
}

MATCHER(Succeeds, "succeeds") { return arg.has_value(); }

// An input as it appears in the message of a failing case: one line, nothing invisible.
inline std::string shown(std::string_view text) { return "input '" + percent_encode(text, "") + "'"; }

}  // namespace testing_support
}  // namespace pinstep
