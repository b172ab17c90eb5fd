// A rank's report that is accepted is the same after it was written again, and what is found in it can be shown
// at a terminal: anybody who finds the port may send one.
#include "launcher/verify/agreement.h"
#include "tests/fuzz/check.h"

using namespace pinstep;
using namespace pinstep::verify;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto report = RankReport::parse(fuzz::as_text(data, size));
  if (!report) return 0;
  const std::string text = report->text();
  for (const char c : text) CHECK(c == '\n' || (c >= 0x20 && c < 0x7f));
  const auto again = RankReport::parse(text);
  CHECK(again && *again == *report);

  RankReport other;
  other.rank = report->rank + 1;
  other.node = "n1";
  const Findings findings = compare({*report, other}, 2, {"n1"});
  CHECK(findings.all_well() == problems(findings).empty());
  for (const char c : show(findings)) CHECK(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  CHECK(json(findings).back() == '\n');
  return 0;
}
