// RECORD and entry_points.txt of a wheel are refused or say what they seem to; RECORD is read as it is written.
#include "envtools/wheel/wheel.h"

#include "envtools/base/text.h"
#include "envtools/package/names.h"
#include "tests/fuzz/check.h"

using namespace pinstep;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input = fuzz::as_text(data, size);
  if (const auto lines = parse_record(input, "RECORD")) {
    bool plain = true;  // a size without a digest is not written again, nor is an end of line in a path
    for (const RecordLine& line : *lines) {
      CHECK(line.sha256.empty() || is_hex(line.sha256, 64));
      plain = plain && (line.size == 0 || !line.sha256.empty()) &&
              line.path.find_first_of("\r\n") == std::string::npos;
    }
    const auto again = parse_record(format_record(*lines), "RECORD");
    CHECK(!plain || (again && *again == *lines));
  }
  if (const auto entries = parse_entry_points(input, "entry_points.txt"))
    for (const EntryPoint& entry : *entries)
      CHECK(is_command_name(entry.command) && is_identifier_chain(entry.module) &&
            is_identifier_chain(entry.function));
  return 0;
}
