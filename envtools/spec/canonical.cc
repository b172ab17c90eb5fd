#include <algorithm>
#include <set>

#include "envtools/base/text.h"
#include "envtools/channel/channel.h"
#include "envtools/spec/spec.h"

namespace pinstep {
namespace {

std::string with_single_blanks(std::string_view text) {
  std::string result;
  for (const char c : text) {
    const bool blank = c == ' ' || c == '\t' || c == '\n';
    if (!blank)
      result += c;
    else if (!result.empty() && result.back() != ' ')
      result += ' ';
  }
  return result;
}

void add(std::string& text, std::string_view kind, std::string_view value) {
  text += std::string(kind) + " " + percent_encode(without_credentials_anywhere(value), "") + "\n";
}

}  // namespace

std::string canonical_text(const Spec& spec) {
  std::string text = "pinstep-spec 1\n";
  for (const SpecLine& channel : spec.channels) add(text, "channel", channel.text);

  std::vector<std::string> conda;
  for (const SpecLine& line : spec.conda) conda.push_back(with_single_blanks(line.text));
  std::sort(conda.begin(), conda.end());
  conda.erase(std::unique(conda.begin(), conda.end()), conda.end());
  for (const std::string& line : conda) add(text, "conda", line);

  // Options of pip hold for all lines, and some of them in their order.
  std::vector<std::string> requirements;
  if (spec.has_pip_section) text += "pip-section\n";
  for (const SpecLine& line : spec.pip)
    if (line.text.starts_with('-'))
      add(text, "pip", with_single_blanks(line.text));
    else
      requirements.push_back(with_single_blanks(line.text));
  std::sort(requirements.begin(), requirements.end());
  requirements.erase(std::unique(requirements.begin(), requirements.end()), requirements.end());
  for (const std::string& line : requirements) add(text, "pip", line);
  std::set<std::string> constraints;
  for (const SpecLine& line : spec.constraints) constraints.insert(with_single_blanks(line.text));
  for (const std::string& line : constraints) add(text, "constraint", line);

  for (const auto& [name, value] : spec.variables)
    text += "variable " + name + " " + percent_encode(value, "") + "\n";
  return text;
}

}  // namespace pinstep
