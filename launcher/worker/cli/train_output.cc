#include "launcher/worker/cli/train_output.h"

#include <cstdio>

#include "launcher/worker/train/interrupt.h"
#include "launcher/worker/words.h"

namespace pinstep::worker {
namespace {

double samples_per_second(const EpochReport& epoch) {
  return epoch.seconds > 0 ? static_cast<double>(epoch.samples) / epoch.seconds : 0;
}

}  // namespace

std::string line_of(const Start& start, Form form) {
  if (form == Form::json)
    return json_line({{"event", "start"},
                      {"ranks", start.ranks},
                      {"transport", start.transport},
                      {"device", start.device},
                      {"threads", start.threads},
                      {"model", start.model},
                      {"layers", start.layers},
                      {"optimizer", start.optimizer},
                      {"virtual_shards", start.shards},
                      {"parameters", start.parameters},
                      {"buckets", start.buckets},
                      {"images", start.images},
                      {"restart", start.restart}});
  return how_many(start.ranks, "rank") + " on " + start.device + ", transport " + start.transport + ": " +
         start.model + " " + start.layers + ", " + how_many(start.parameters, "parameter") + " in " +
         how_many(start.buckets, "bucket") + ", " + how_many(start.images, "image") +
         (start.shards > 0 ? ", " + how_many(start.shards, "virtual shard") : "") +
         (start.restart > 0 ? ", restart " + std::to_string(start.restart) : "") + "\n";
}

Json json_of(const EpochReport& epoch) {
  return {{"event", "epoch"},
          {"epoch", epoch.epoch},
          {"steps", epoch.steps},
          {"loss", epoch.loss},
          {"train_accuracy", epoch.train_accuracy},
          {"test_loss", epoch.test_loss},
          {"accuracy", epoch.accuracy},
          {"samples", epoch.samples},
          {"seconds", epoch.seconds},
          {"samples_per_second", samples_per_second(epoch)}};
}

std::string line_of(const EpochReport& epoch, Form form) {
  if (form == Form::json) return json_line(json_of(epoch));
  char text[160];
  std::snprintf(text, sizeof text, "epoch %u  loss %.4f  accuracy %.4f  %.0f samples/s\n", epoch.epoch,
                shown(epoch.loss), shown(epoch.accuracy), samples_per_second(epoch));
  return text;
}

std::string progress_of(std::uint32_t epoch, const StepReport& step, double samples_per_second) {
  char text[160];
  std::snprintf(text, sizeof text, "epoch %u  step %llu  loss %.4f  %.0f samples/s", epoch,
                static_cast<unsigned long long>(step.step), shown(step.loss), samples_per_second);
  return text;
}

Json json_of(const Resumed& resumed) {
  const Position& at = resumed.position;
  return {{"event", "resume"},          {"checkpoint", resumed.path}, {"epoch", at.epoch},
          {"consumed", at.consumed},    {"steps", at.steps},          {"ranks", resumed.ranks},
          {"damaged", resumed.damaged}, {"changes", resumed.changes}};
}

Json json_of(const Kept& kept) {
  const Position& at = kept.position;
  return {{"event", "checkpoint"},
          {"checkpoint", kept.path},
          {"epoch", at.epoch},
          {"consumed", at.consumed},
          {"steps", at.steps},
          {"seconds", kept.seconds},
          {"signal", signal_name(kept.signal)}};
}

std::string line_of(const Resumed& resumed, Form form) {
  const Position& at = resumed.position;
  if (form == Form::json) return json_line(json_of(resumed));
  std::string text;
  for (const std::string& damaged : resumed.damaged) text += damaged + "; the one before is used\n";
  std::string with;
  for (const std::string& change : resumed.changes) with += (with.empty() ? "; with " : ", ") + change;
  return text + "goes on from " + resumed.path + ", written by " + how_many(resumed.ranks, "rank") +
         ": epoch " + std::to_string(at.epoch) + ", " + how_many(at.consumed, "image") + " done" + with + "\n";
}

std::string line_of(const Kept& kept, Form form) {
  const Position& at = kept.position;
  if (form == Form::json) return json_line(json_of(kept));
  if (kept.signal == 0) return "checkpoint " + kept.path + "\n";
  return "stopped by " + std::string(signal_name(kept.signal)) + " after " + how_many(at.steps, "step") +
         (kept.path.empty() ? "" : ", checkpoint " + kept.path) + "\n";
}

std::string line_of_end(const std::string& weights, const std::string& saved, Form form) {
  if (form == Form::json) {
    Json json{{"event", "end"}, {"weights", weights}};
    if (!saved.empty()) json["saved"] = saved;
    return json_line(json);
  }
  return "weights " + weights + (saved.empty() ? "" : ", saved in " + saved) + "\n";
}

}  // namespace pinstep::worker
