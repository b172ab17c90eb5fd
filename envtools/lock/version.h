// The order of versions, as conda has it (conda.models.version.VersionOrder, described in its documentation of
// version ordering); versions of Python packages (PEP 440) come out in their own order too.
#pragma once

#include <compare>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace pinstep {

// Letters, or a number where there are none.
struct VersionPart {
  std::string letters;
  std::uint64_t number = 0;

  std::weak_ordering operator<=>(const VersionPart& other) const;  // letters before all numbers
  bool operator==(const VersionPart&) const = default;
};
using VersionSegments = std::vector<std::vector<VersionPart>>;

// "1!2.0rc1+l.3" has the epoch 1, the segments 2 and 0rc1, and the local segments l and 3.
struct Version {
  std::uint64_t epoch = 0;
  VersionSegments segments;
  VersionSegments local;
};

inline constexpr std::uint64_t kPostRelease = UINT64_MAX;  // "post" counts as more than any number

// Takes any text: what is no version gets some place in the order.
Version parse_version(std::string_view text);

std::weak_ordering compare_versions(std::string_view a, std::string_view b);

}  // namespace pinstep
