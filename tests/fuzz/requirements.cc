// A text becomes lines of which each is one: without comments and breaks, in order, and the same when read
// again. What names a file names it whichever way it is written.
#include "envtools/spec/requirements.h"

#include "envtools/base/text.h"
#include "envtools/channel/channel.h"
#include "envtools/spec/check.h"
#include "tests/fuzz/check.h"

using namespace pinstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  const auto count = static_cast<int>(split(text, '\n').size());
  int last = 0;
  for (const SpecLine& line : requirement_lines(text)) {
    CHECK(!line.text.empty() && trim(line.text) == line.text && !line.text.starts_with('#'));
    CHECK(line.text.find('\n') == std::string::npos);
    CHECK(line.line > last && line.line <= count);
    last = line.line;
    const auto again = requirement_lines(line.text);
    CHECK(line.text.ends_with('\\') || (again.size() == 1 && again.front().text == line.text));

    if (const auto option = file_option(line.text)) {
      CHECK(line.text.starts_with("-r") || line.text.starts_with("-c") || line.text.starts_with("--"));
      CHECK(line.text.find(option->path) != std::string::npos);
      CHECK(requirement_name(line.text).empty());
    }
    const std::string clean = without_credentials_anywhere(line.text);
    CHECK(without_credentials_anywhere(clean) == clean);
  }
  return 0;
}
