// A spec taken apart for the rules.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/lint/lint.h"

namespace pinstep {

// A line of the spec: conda's `numpy>=1.26`, pip's `torch==2.1; python_version < "4"`.
struct Wanted {
  std::string name;        // lower case; of pip normalized (PEP 503)
  std::string constraint;  // what follows the name, without blanks: ">=1.26", "=1.8=*cuda*"
  std::string channel;     // of `channel::name`
  int line = 0;

  // "1.26" of =1.26, ==1.26, 1.26.*, ~=1.26; nothing where no one version is meant.
  std::optional<std::string> version() const;
  // The same, or that of >=1.26.
  std::optional<std::string> at_least() const;
  std::string build() const;  // "*cuda*" of "=1.8=*cuda*"; may be empty
};

struct LintFacts {
  explicit LintFacts(const LintInput& input);

  const Wanted* conda(std::string_view name) const;  // nullptr: not listed
  const Wanted* pip(std::string_view name) const;
  const SpecLine* channel(std::string_view name) const;
  std::optional<std::string> offered(std::string_view virtual_package) const;  // its version

  const LintInput& input;
  std::vector<Wanted> all_conda, all_pip;
};

// pip's name for a conda package where it is another: pytorch → torch.
std::string pip_name_of(std::string_view conda_name);

// Whether `version` is `begin` or one of its kind: 2.0.1 is of 2.0, 2.10 is not of 2.1.
bool is_of(std::string_view version, std::string_view begin);

}  // namespace pinstep
