// A run's summary as a picture: loss and throughput by step, and each rank's step time with stragglers marked.
// Colours are Okabe and Ito's, which differ for colour-blind eyes; stragglers are hatched as well.
#pragma once

#include <string>
#include <vector>

#include "launcher/worker/report/run_summary.h"

namespace pinstep::worker {

std::string svg_of(const RunSummary& summary);

// Round numbers from at most `low` to at least `high`, about `count` of them. low < high.
std::vector<double> ticks(double low, double high, int count);

}  // namespace pinstep::worker
