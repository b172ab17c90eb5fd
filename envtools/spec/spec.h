// The spec: the user's environment.yml as conda reads it (CEP 24), with the line each part came from.
//
// What is odd but harmless becomes a note; what would be misread becomes an error with "file:line:". What
// pinstep decides where conda, mamba and conda-lock differ stands in FORMAT.md beside this file.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep {

struct SpecLine {
  std::string text;         // a match spec, a channel, or a line of a requirements file
  int line = 0;             // 1-based, in the spec
  std::string origin = {};  // of a line that `-r FILE` brought: "requirements.txt:3"

  bool operator==(const SpecLine&) const = default;
};

struct Spec {
  std::string path;                   // absolute; where relative paths in the pip list start from its directory
  std::string name;                   // empty: none
  std::vector<SpecLine> channels;     // in order, without "nodefaults"; empty: the configured default channels
  std::vector<SpecLine> conda;        // match specs (CEP 29) as written, trimmed
  std::vector<SpecLine> pip;          // lines as pip would read them, without comments and blank lines
  std::vector<SpecLine> constraints;  // lines of the files that `-c FILE` names
  std::map<std::string, std::string> inputs;  // files that `-r` and `-c` name, relative to the spec → sha256
  bool has_pip_section = false;
  std::vector<std::string> platforms;            // conda-lock's extension; empty: this machine's
  std::map<std::string, std::string> variables;  // plain scalars as written: `yes` stays "yes"
  std::vector<std::string> notes;                // "environment.yml:3: …", for people
};

inline constexpr std::size_t kSpecSizeLimit = 1 << 20;  // bytes

// Errors: invalid; the cause begins with "PATH:LINE: ".
Result<Spec> parse_spec(std::string_view text, const std::string& path);

// Reads and parses, with the files that the pip list names (requirements.h); a link is followed. Errors: those
// of read_file(), parse_spec() and read_requirement_files().
Result<Spec> load_spec(const std::string& path);

// "PATH:LINE: " of a line, or "PATH:LINE: requirements.txt:3: ": the beginning of a located cause.
std::string place_of(const Spec& spec, const SpecLine& line);

// One text for all specs that mean the same: sorted where order means nothing, without comments, name and
// positions. What the lock's content hash and the store's spec key are made of. Format: FORMAT.md.
std::string canonical_text(const Spec& spec);

}  // namespace pinstep
