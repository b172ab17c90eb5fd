#include "launcher/worker/report/run_log.h"

#include <cmath>
#include <filesystem>
#include <limits>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/json/json.h"

namespace pinstep::worker {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

// NaN for what is no number or none of a float's. Others as small as those that only a double has are 0.
double real_of(const Json& object, const char* key) {
  using Float = std::numeric_limits<float>;
  const auto found = object.find(key);
  if (found == object.end() || !found->is_number()) return kNone;
  const double value = found->get<double>();
  if (!(std::abs(value) <= Float::max())) return kNone;
  return std::abs(value) < Float::min() ? 0 : value;
}

std::uint32_t small_of(const Json& object, const char* key) {
  return static_cast<std::uint32_t>(number_of(object, key));
}

// False for a step without the times that it took.
bool add_step(RankLog& log, const Json& event) {
  const double seconds = real_of(event, "seconds"), waited = real_of(event, "waited");
  if (!(seconds >= 0) || !(waited >= 0)) return false;
  log.steps[number_of(event, "step")] = {small_of(event, "epoch"),
                                         small_of(event, "samples"),
                                         seconds,
                                         waited,
                                         real_of(event, "loss"),
                                         log.ranks,
                                         log.begun};
  return true;
}

// Whether it tells anything.
bool add_event(RankLog& log, const Json& event) {
  const std::string kind = text_of(event, "event");
  if (kind == "start") {
    ++log.starts;
    log.node = text_of(event, "node");
    log.model = text_of(event, "model");
    log.parameters = number_of(event, "parameters");
    log.ranks = small_of(event, "ranks");
    const double time = real_of(event, "time");
    log.begun = std::isnan(time) ? 0 : time;
    log.has_ended = false;
    log.error.clear();
  } else if (kind == "step") {
    return add_step(log, event);
  } else if (kind == "epoch") {
    const std::uint32_t epoch = small_of(event, "epoch");
    log.epochs[epoch] = {epoch, real_of(event, "loss"), real_of(event, "test_loss"), real_of(event, "accuracy"),
                         real_of(event, "samples_per_second")};
  } else if (kind == "end") {
    log.has_ended = true;
    log.most_memory = number_of(event, "most_memory_bytes");
  } else if (kind == "error") {
    log.error = text_of(event, "cause");
  }
  return true;
}

// N of "rank-N.jsonl".
std::optional<std::uint32_t> rank_of(std::string_view name) {
  constexpr std::string_view kBefore = "rank-", kAfter = ".jsonl";
  if (!name.starts_with(kBefore) || !name.ends_with(kAfter)) return std::nullopt;
  return parse_number<std::uint32_t>(name.substr(kBefore.size(), name.size() - kBefore.size() - kAfter.size()));
}

}  // namespace

void add_log(RunLog& run, std::uint32_t rank, std::string_view text) {
  RankLog& log = run.ranks[rank];
  for (const std::string_view line : split(text, '\n')) {
    if (line.empty()) continue;
    const auto event = parse_json(line, "a line");
    if (!event || !event->is_object() || !add_event(log, *event)) ++run.unreadable;
  }
}

Result<RunLog> read_run(const std::string& directory) {
  std::error_code error;
  RunLog run;
  for (const auto& entry : std::filesystem::directory_iterator(directory, error)) {
    const auto rank = rank_of(entry.path().filename().string());
    if (!rank) continue;
    const auto file = read_file(entry.path().string(), kMostBytes);
    if (!file) return tl::unexpected(file.error());
    add_log(run, *rank, file->text);
  }
  if (error) return fail_errno(error.value(), "read directory", directory);
  if (run.ranks.empty())
    return fail(ErrorKind::not_found, "'" + directory + "' has no log of a rank",
                "train --log=DIR leaves them");
  return run;
}

}  // namespace pinstep::worker
