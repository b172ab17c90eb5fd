#include "launcher/worker/cli/bench_output.h"

#include <cstdio>

#include "envtools/base/text.h"
#include "launcher/worker/units/units.h"
#include "launcher/worker/words.h"

namespace pinstep::worker {
namespace {

constexpr double kGiga = 1e9;
constexpr double kMilli = 1e-3;
constexpr double kMicro = 1e-6;

double percent(double share) { return 100 * share; }

Json json_of(const Interval& interval) { return {interval.median, interval.low, interval.high}; }

}  // namespace

std::string line_of(const BenchStart& start, Form form) {
  if (form == Form::json)
    return json_line({{"event", "start"},
                      {"ranks", start.ranks},
                      {"transport", start.transport},
                      {"device", start.device},
                      {"threads", start.threads}});
  return std::to_string(start.ranks) + (start.ranks == 1 ? " rank" : " ranks") + " on " + start.device +
         ", transport " + start.transport + "\n";
}

std::string head_of_exchanges(Form form) {
  return form == Form::json
             ? ""
             : "\noperation          bytes  iterations          us  algorithm GB/s    bus GB/s  wrong\n";
}

std::string line_of(const Exchanged& found, Form form) {
  if (form == Form::json)
    return json_line({{"event", "exchange"},
                      {"operation", to_string(found.operation)},
                      {"ranks", found.ranks},
                      {"bytes", found.bytes},
                      {"iterations", found.iterations},
                      {"seconds", found.seconds},
                      {"algorithm_bandwidth", found.algorithm_bandwidth()},
                      {"bus_bandwidth", found.bus_bandwidth()},
                      {"wrong", found.wrong}});
  return formatted(
      "%-12s  %10zu  %10u  %10s  %14s  %10s  %5llu\n", std::string(to_string(found.operation)).c_str(),
      found.bytes, found.iterations, three_digits(found.seconds / kMicro).c_str(),
      three_digits(found.algorithm_bandwidth() / kGiga).c_str(),
      three_digits(found.bus_bandwidth() / kGiga).c_str(), static_cast<unsigned long long>(found.wrong));
}

std::string line_of(const Overlap& found, Form form) {
  if (form == Form::json)
    return json_line({{"event", "overlap"},
                      {"ranks", found.ranks},
                      {"gradient_bytes", found.gradient_bytes},
                      {"buckets", found.buckets},
                      {"single_seconds", found.single_seconds},
                      {"overlapped_seconds", found.overlapped_seconds},
                      {"reduce_seconds", found.reduce_seconds},
                      {"ratio", json_of(found.ratio)},
                      {"single_to_single", json_of(found.noise)},
                      {"inconclusive", found.is_inconclusive()}});
  std::string text =
      formatted("\noverlap: %u ranks, %s of gradients, of which the all-reduce alone takes %.2f ms\n",
                found.ranks, format_size(found.gradient_bytes).c_str(), found.reduce_seconds / kMilli);
  text +=
      formatted("  one all-reduce after the backward pass  %9.2f ms a step\n", found.single_seconds / kMilli);
  text += formatted("  %2zu buckets, overlapped                  %9.2f ms a step: %.1f %% less [%.1f, %.1f]\n",
                    found.buckets, found.overlapped_seconds / kMilli, percent(1 - found.ratio.median),
                    percent(1 - found.ratio.high), percent(1 - found.ratio.low));
  if (found.is_inconclusive())
    text += formatted("  inconclusive: the same steps differ from themselves by [%.1f, %.1f] %%\n",
                      percent(found.noise.low - 1), percent(found.noise.high - 1));
  return text;
}

std::string head_of_scaling(Form form) {
  return form == Form::json ? "" : "\nranks  ms a step  ms waited  images/s  efficiency\n";
}

std::string line_of(const Scaling& found, const Scaling& one, Form form) {
  const double efficiency = found.samples_per_second / (found.ranks * one.samples_per_second);
  if (form == Form::json)
    return json_line({{"event", "scaling"},
                      {"ranks", found.ranks},
                      {"step_seconds", found.step_seconds},
                      {"waited_seconds", found.waited_seconds},
                      {"samples_per_second", found.samples_per_second},
                      {"efficiency", efficiency}});
  return formatted("%5u  %9.2f  %9.2f  %8.0f  %8.1f %%\n", found.ranks, found.step_seconds / kMilli,
                   found.waited_seconds / kMilli, found.samples_per_second, percent(efficiency));
}

std::string line_of_memory(std::uint64_t most, Form form) {
  if (form == Form::json) return json_line({{"event", "end"}, {"most_memory_bytes", most}});
  return "\nmost memory of a rank: " + format_size(most) + "\n";
}

}  // namespace pinstep::worker
