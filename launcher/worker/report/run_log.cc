#include "launcher/worker/report/run_log.h"

#include <filesystem>

#include "envtools/base/fd.h"
#include "envtools/base/text.h"
#include "envtools/json/json.h"

namespace pinstep::worker {
namespace {

constexpr std::size_t kMostBytes = std::size_t{1} << 30;

double real_of(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_number() ? found->get<double>() : 0;
}

std::uint32_t small_of(const Json& object, const char* key) {
  return static_cast<std::uint32_t>(number_of(object, key));
}

void add_event(RankLog& log, const Json& event) {
  const std::string kind = text_of(event, "event");
  if (kind == "start") {
    ++log.starts;
    log.node = text_of(event, "node");
    log.model = text_of(event, "model");
    log.parameters = number_of(event, "parameters");
    log.ranks = small_of(event, "ranks");
    log.has_ended = false;
    log.error.clear();
  } else if (kind == "step") {
    log.steps[number_of(event, "step")] = {small_of(event, "epoch"), small_of(event, "samples"),
                                           real_of(event, "seconds"), real_of(event, "waited"),
                                           real_of(event, "loss")};
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
    if (event && event->is_object())
      add_event(log, *event);
    else
      ++run.unreadable;
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
