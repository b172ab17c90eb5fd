#include "launcher/worker/cli/check_output.h"

#include "launcher/worker/units/units.h"
#include "launcher/worker/words.h"

namespace pinstep::worker {

std::string lines_of(const Gathered& gathered, Form form) {
  if (form == Form::text) return "";
  std::string text;
  for (const auto& report : gathered.ranks) {
    if (!report) continue;
    Json json{{"event", "rank"}};
    json.update(json_of(*report));
    text += json_line(json);
  }
  return text;
}

std::string line_of(const Finding& finding, Form form) {
  if (form == Form::json)
    return json_line(
        {{"event", "finding"}, {"kind", finding.kind}, {"text", finding.text}, {"hint", finding.hint}});
  return "pinstep-worker: check: " + finding.text + "\npinstep-worker: hint: " + finding.hint + "\n";
}

std::string line_of_verdict(const Summary& summary, const std::vector<Finding>& findings, Form form) {
  if (form == Form::json)
    return json_line({{"event", "verdict"},
                      {"fit", findings.empty()},
                      {"findings", findings.size()},
                      {"ranks", summary.ranks},
                      {"nodes", summary.nodes},
                      {"links", summary.links},
                      {"most_latency", summary.most_latency},
                      {"least_bandwidth", summary.least_bandwidth},
                      {"most_skew", summary.most_skew}});
  const std::string who = how_many(summary.ranks, "rank") + " on " + how_many(summary.nodes, "node");
  if (!findings.empty())
    return "not fit: " + findings.front().text + (findings.size() > 1 ? ", and more" : "") + "\n";
  if (summary.links == 0) return "fit: " + who + "\n";
  return "fit: " + who + ", latency up to " + shown_time(summary.most_latency) + ", bandwidth from " +
         shown_rate(summary.least_bandwidth) + ", clocks within " + shown_time(summary.most_skew) + "\n";
}

}  // namespace pinstep::worker
