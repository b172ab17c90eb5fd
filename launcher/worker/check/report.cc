#include "launcher/worker/check/report.h"

namespace pinstep::worker {
namespace {

Json json_of(const Link& link) {
  if (!link.error.empty()) return {{"to", link.to}, {"error", link.error}};
  return {{"to", link.to}, {"latency", link.latency}, {"bandwidth", link.bandwidth}};
}

RankReport report_of(const Json& json) {
  RankReport report;
  report.rank = json.at("rank");
  report.local_size = json.at("local_size");
  report.node = json.at("node");
  report.facts = {json.at("gpus"),    json.at("driver"), json.at("nccl"), json.at("environment"),
                  json.at("version"), json.at("memory"), json.at("shm"),  json.at("open_files")};
  if (json.contains("skew")) report.skew = Skew{json.at("skew"), json.at("skew_uncertainty")};
  for (const Json& link : json.at("links"))
    report.links.push_back(
        {link.at("to"), link.value("error", ""), link.value("latency", 0.0), link.value("bandwidth", 0.0)});
  return report;
}

}  // namespace

Json json_of(const RankReport& report) {
  const Facts& facts = report.facts;
  Json json{{"rank", report.rank},
            {"local_size", report.local_size},
            {"node", report.node},
            {"gpus", facts.gpus},
            {"driver", facts.driver},
            {"nccl", facts.nccl},
            {"environment", facts.environment},
            {"version", facts.version},
            {"memory", facts.memory},
            {"shm", facts.shm},
            {"open_files", facts.open_files}};
  if (report.skew) {
    json["skew"] = report.skew->seconds;
    json["skew_uncertainty"] = report.skew->uncertainty;
  }
  json["links"] = Json::array();
  for (const Link& link : report.links) json["links"].push_back(json_of(link));
  return json;
}

std::optional<RankReport> read_rank_report(std::string_view text) {
  const auto json = parse_json(text, "a report");
  if (!json || !json->is_object()) return std::nullopt;
  try {
    return report_of(*json);
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace pinstep::worker
