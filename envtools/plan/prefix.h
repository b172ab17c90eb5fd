// The path of a prefix inside files: putting it in, and taking it out again to compare prefixes. Pure
// functions on bytes.
#pragma once

#include <string>
#include <string_view>

#include "envtools/package/package.h"

namespace pinstep {

// Bytes of a "#!" line that every kernel in use reads, without the newline (Linux before 5.1).
inline constexpr std::size_t kShebangLimit = 127;

// The lines that make a script run under an interpreter given by absolute path: "#!" and the path, or where
// that is too long or holds a blank
//
//   python       two lines that /bin/sh and python both read; no PATH is needed
//   bin/NAME     "#!/usr/bin/env NAME", with -S before arguments; the prefix is active when it is called
//   others       "#!" and the path all the same: nothing better is known
//
// `arguments` is the rest of the line, as the kernel hands it over in one piece; may be empty.
std::string interpreter_lines(std::string_view interpreter, std::string_view arguments);

// Replaces the placeholder everywhere; a first line "#!<placeholder>…" is mended as above.
std::string replace_in_text(std::string_view content, std::string_view placeholder, std::string_view prefix);

// Replaces the placeholder in every run of bytes up to a NUL (or the end) and fills the run up with NULs, so
// that lists "a:b:c" stay one string and nothing moves. The prefix must not be longer than the placeholder.
std::string replace_in_binary(std::string content, std::string_view placeholder, std::string_view prefix);

// A script of a wheel: "#!python" or "#!pythonw" in the first line becomes the interpreter.
std::string replace_script_interpreter(std::string_view content, std::string_view interpreter);

// The script that calls a python function, as pip and conda write it. `python` is an absolute path.
std::string entry_point_script(std::string_view python, const EntryPoint& entry);

// ---- the other way, for the tree hash

// For every prefix, what replace_in_text() or entry_point_script() made of one text becomes one text again.
std::string canonical_text(std::string_view content, std::string_view prefix);

// The bytes that replace_in_binary() was given. A run that it cannot have made stays as it is.
std::string restore_binary(std::string_view content, std::string_view placeholder, std::string_view prefix);

}  // namespace pinstep
