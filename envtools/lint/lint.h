// What in a spec is legal and yet hardly what was meant: before a night in the queue says so. Pure.
//
// The rules are a table (rules.cc); each looks at the spec's lines, at the profile it will be solved for and at
// where channels are, and at nothing else: no network, no solver. What conda itself refuses is an error of
// reading the spec, not a finding.
#pragma once

#include <chrono>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/channel/channel.h"
#include "envtools/profile/profile.h"
#include "envtools/spec/spec.h"

namespace pinstep {

struct Finding {
  std::string_view rule;
  int line = 0;        // 1-based, in the spec; 0: the file as a whole
  std::string why;     // one sentence
  std::string remedy;  // what to write instead

  bool operator==(const Finding&) const = default;
};

struct LintInput {
  const Spec& spec;
  std::vector<VirtualPackage> profile;                 // what the nodes offer
  std::chrono::year_month today;                       // decides which Pythons are past their end
  ChannelConfig channels = built_in_channel_config();  // which URLs have a name
};

// By line, then by rule. `ignored` holds names of rules.
std::vector<Finding> lint(const LintInput& input, const std::vector<std::string>& ignored);

struct LintRule {
  std::string_view name;
  std::string_view meaning;  // for people, half a sentence
};
std::vector<LintRule> lint_rules();

}  // namespace pinstep
