// A spec to begin with, out of what somebody has already: `pinstep init`. Readers are pure, but for
// from_prefix().
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"

namespace pinstep {

struct NewSpec {
  std::string name;
  std::vector<std::string> channels, platforms;
  std::vector<std::string> conda;  // match specs
  std::vector<std::string> pip;    // lines of a requirements file
  std::map<std::string, std::string> variables;
  std::vector<std::string> notes;  // what could not be taken over, for people
};

// An environment.yml; parse_spec() reads it back.
std::string format_new_spec(const NewSpec& spec);

// A requirements file: its lines become the pip list. Credentials in URLs are taken out, with a note.
NewSpec from_requirements(std::string_view text, const std::string& path);

// pixi.toml, or pyproject.toml with a section [tool.pixi] or [project]. Errors: invalid with "PATH:LINE: " (no
// TOML, none of these sections).
Result<NewSpec> from_project(std::string_view text, const std::string& path);

// A conda environment: what was asked for by its history, else what nothing else needs; what pip has installed;
// channels, the most used first; variables. Nothing of it is run. Errors: invalid (no conda environment), those
// of reading.
Result<NewSpec> from_prefix(const std::string& prefix);

}  // namespace pinstep
