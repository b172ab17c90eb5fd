// A prefix put into a file can be taken out again, and nothing else changes.
#include "envtools/plan/prefix.h"

#include "tests/fuzz/check.h"

using namespace pinstep;

namespace {
constexpr std::string_view kPlaceholder = "/placehold_placehold";
constexpr std::string_view kPrefix = "/s t/e/0123456789";
constexpr std::string_view kOther = "/store";
}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::as_text(data, size);
  replace_script_interpreter(input, "/p/bin/python3");
  restore_binary(input, kPlaceholder, kPrefix);
  canonical_text(input, kPrefix);
  if (input.find(kPrefix) != input.npos || input.find(kOther) != input.npos)
    return 0;  // then nobody could tell
  const std::string binary = replace_in_binary(std::string(input), kPlaceholder, kPrefix);
  CHECK(binary.size() == input.size());
  CHECK(restore_binary(binary, kPlaceholder, kPrefix) == input);
  // An interpreter whose path has the placeholder twice cannot be told from its arguments where a blank comes
  // in.
  const std::string_view first_line = input.substr(0, input.find('\n'));
  if (first_line.find(kPlaceholder) != first_line.rfind(kPlaceholder)) return 0;
  const std::string text = canonical_text(input, kPlaceholder);
  for (const std::string_view prefix : {kPrefix, kOther})
    CHECK(canonical_text(replace_in_text(input, kPlaceholder, prefix), prefix) == text);
  return 0;
}
