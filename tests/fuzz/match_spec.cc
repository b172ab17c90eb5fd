// A match spec comes apart into pieces of itself and is judged with a cause; a version is in a range or not,
// alike however the range is put together; a profile that is read is written so that it reads the same.
#include "envtools/profile/profile.h"
#include "envtools/spec/check.h"
#include "envtools/spec/version_range.h"
#include "tests/fuzz/check.h"

using namespace pinstep;

namespace {

bool lies_in(std::string_view piece, std::string_view whole) {
  return piece.empty() ||
         (piece.data() >= whole.data() && piece.data() + piece.size() <= whole.data() + whole.size());
}

void check_spec(std::string_view text) {
  const MatchParts parts = split_match_spec(text);
  CHECK(lies_in(parts.channel, text) && lies_in(parts.name, text) && lies_in(parts.rest, text));
  CHECK(package_name(text).size() == parts.name.size());
  CHECK(requirement_name(text).find('_') == std::string::npos);
  const auto problem = check_match_spec(text);
  CHECK(!problem || (!problem->cause.empty() && problem->cause.find('\n') == std::string::npos));
  CHECK(!problem || problem->fatal || problem->hint.empty());
}

void check_range(const std::string& range, std::string_view version) {
  const bool fits = version_fits(range, version);
  CHECK(version_fits(range + "|" + range, version) == fits);
  CHECK(version_fits("*|" + range, version));
  if (range.find('|') == std::string::npos) CHECK(version_fits(range + "," + range, version) == fits);
}

void check_profile(std::string_view text) {
  const auto profile = parse_profile(text, "/f");
  if (!profile) {
    CHECK(profile.error().kind == ErrorKind::invalid && profile.error().cause.starts_with("/f:"));
    return;
  }
  if (profile->platforms.empty()) return;
  const auto again = parse_profile(write_profile(*profile, ""), "/f");
  CHECK(again && *again == *profile);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  std::string_view input = fuzz::as_text(data, size);
  const std::string spec(fuzz::take_text(input));
  const std::string version(fuzz::take_text(input));
  check_spec(spec);
  check_range(spec, version);
  check_profile(input);
  return 0;
}
