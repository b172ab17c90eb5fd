// What goes wrong most often in the lines of a spec. The grammar itself (CEP 29) is the solver's to judge.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace pinstep {

struct SpecProblem {
  std::string cause, hint;
  bool fatal = true;  // false: legal, but hardly what was meant
};

// "channel/subdir::name rest" taken apart, each trimmed; a part that is not there is empty. For a file or a URL
// all but `name` is meaningless.
struct MatchParts {
  std::string_view channel, name, rest;
};
MatchParts split_match_spec(std::string_view text);

// The package a match spec is about, in lower case: what two lines for one package have in common.
std::string package_name(std::string_view match_spec);

// The name in a line of a requirements file (PEP 508), normalized (PEP 503); empty for options, paths and URLs.
std::string requirement_name(std::string_view line);

// A line of `dependencies:`; nothing where it looks like a match spec.
std::optional<SpecProblem> check_match_spec(std::string_view text);

// A line of text that is a comment selector of conda-lock, `# [linux64]`: the selector, else nothing.
std::optional<std::string> comment_selector(std::string_view line);

// A Jinja expression or statement.
bool has_template(std::string_view text);

}  // namespace pinstep
