// Whatever stands in a rank's log, report shows it, and draws what a browser can read.
#include "launcher/worker/report/run_summary.h"
#include "launcher/worker/report/svg.h"
#include "launcher/worker/report/text.h"
#include "tests/fuzz/check.h"

using namespace pinstep;
using namespace pinstep::worker;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text = fuzz::as_text(data, size);
  RunLog run;
  add_log(run, 0, text.substr(0, text.find('#')));
  if (text.find('#') != std::string_view::npos) add_log(run, 1, text.substr(text.find('#') + 1));
  const RunSummary summary = summarize(run);
  for (const char c : text_of(summary)) CHECK(c == '\n' || static_cast<unsigned char>(c) >= 0x20);
  CHECK(parse_json(dump_json(json_of(summary)), "a summary"));
  const std::string svg = svg_of(summary);
  CHECK(svg.ends_with("</svg>\n"));
  for (const char* number : {"=\"nan", "=\"-nan", "=\"inf", "=\"-inf"}) CHECK(svg.find(number) == svg.npos);
  return 0;
}
