// A spec is read or refused with a line; what is read keeps what its header promises.
#include "envtools/spec/spec.h"

#include <algorithm>

#include "tests/fuzz/check.h"

using namespace pinstep;

namespace {

bool stands_on_a_line(const SpecLine& line) { return line.line >= 1 && !line.text.empty(); }

bool is_located(const std::string& text) {
  return text.starts_with("/f:") && text.size() > 3 && text[3] >= '1' && text[3] <= '9';
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  const auto spec = parse_spec(text, "/f");
  if (!spec) {
    CHECK(spec.error().kind == ErrorKind::invalid && is_located(spec.error().cause));
    CHECK(spec.error().cause.find('\n') == std::string::npos);
    return 0;
  }
  for (const auto* lines : {&spec->channels, &spec->conda, &spec->pip})
    CHECK(std::all_of(lines->begin(), lines->end(), stands_on_a_line));
  CHECK(spec->has_pip_section || spec->pip.empty());
  CHECK(std::all_of(spec->notes.begin(), spec->notes.end(), is_located));
  CHECK(!spec->variables.contains("PATH"));
  for (const SpecLine& channel : spec->channels) CHECK(channel.text != "nodefaults");

  const std::string canonical = canonical_text(*spec);
  CHECK(canonical.starts_with("pinstep-spec 1\n") && canonical.ends_with('\n'));
  Spec shuffled = *spec;
  std::reverse(shuffled.conda.begin(), shuffled.conda.end());
  shuffled.name.clear();
  CHECK(canonical_text(shuffled) == canonical);
  return 0;
}
