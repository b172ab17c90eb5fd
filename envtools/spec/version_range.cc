#include "envtools/spec/version_range.h"

#include <algorithm>
#include <array>
#include <string>

#include "envtools/base/text.h"
#include "envtools/lock/version.h"

namespace pinstep {
namespace {

// 1.8.3 begins with 1.8, 1.80 does not; 1.8rc1 does.
bool begins_with(std::string_view version, std::string_view beginning) {
  const Version whole = parse_version(version);
  const Version part = parse_version(beginning);
  if (whole.epoch != part.epoch) return false;
  const auto segment = [](const Version& of, std::size_t i) {
    return i < of.segments.size() ? of.segments[i] : std::vector<VersionPart>{VersionPart{}};
  };
  for (std::size_t i = 0; i < part.segments.size(); ++i) {
    const auto ours = segment(whole, i);
    const auto& wanted = part.segments[i];
    const bool last = i + 1 == part.segments.size();
    if (last ? ours.size() < wanted.size() || !std::equal(wanted.begin(), wanted.end(), ours.begin())
             : ours != wanted)
      return false;
  }
  return true;
}

std::string_view without_last_segment(std::string_view version) {
  return version.substr(0, std::min(version.rfind('.'), version.size()));
}

bool constraint_fits(std::string_view constraint, std::string_view version) {
  constexpr std::array<std::string_view, 8> operators{"~=", "==", "!=", "<=", ">=", "<", ">", "="};
  constraint = trim(constraint);
  const auto used = std::find_if(operators.begin(), operators.end(),
                                 [&](std::string_view sign) { return constraint.starts_with(sign); });
  std::string_view sign = used == operators.end() ? "==" : *used;
  std::string_view bound = trim(constraint.substr(used == operators.end() ? 0 : used->size()));
  if (bound.ends_with('*')) {
    bound.remove_suffix(1);
    if (bound.ends_with('.')) bound.remove_suffix(1);
    if (bound.empty()) return true;
    if (sign == "==") sign = "=";
    if (sign == "!=") return !begins_with(version, bound);
  }
  if (bound.empty() || bound.find_first_of("*^$() ") != std::string_view::npos) return true;
  const auto order = compare_versions(version, bound);
  if (sign == "=") return begins_with(version, bound);
  if (sign == "~=") return order >= 0 && begins_with(version, without_last_segment(bound));
  if (sign == "==") return order == 0;
  if (sign == "!=") return order != 0;
  if (sign == "<") return order < 0;
  if (sign == "<=") return order <= 0;
  return sign == ">" ? order > 0 : order >= 0;
}

}  // namespace

bool version_fits(std::string_view range, std::string_view version) {
  const auto alternatives = split(range, '|');
  return std::any_of(alternatives.begin(), alternatives.end(), [&](std::string_view alternative) {
    const auto all = split(alternative, ',');
    return std::all_of(all.begin(), all.end(),
                       [&](std::string_view constraint) { return constraint_fits(constraint, version); });
  });
}

}  // namespace pinstep
