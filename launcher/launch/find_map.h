// The map of this rank's node in this step: read where another rank has made it, else made.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "envtools/base/clock.h"
#include "envtools/base/environment.h"
#include "launcher/allowed/allowed.h"
#include "launcher/launch/options.h"
#include "launcher/mapfile/node_map.h"
#include "launcher/mapfile/step_directory.h"
#include "launcher/step/step.h"

namespace pinstep {

struct FoundMap {
  Result<NodeMap> map;
  Bits affinity;             // this rank's, before it is bound
  std::optional<Bits> cpus;  // what the step may use, where that is known
  std::string nccl_file;     // where the node is for NCCL_TOPO_FILE; empty: that was not asked for
  std::optional<StepDirectory> directory;  // that the ranks of the node share, if they do
};

FoundMap find_map(const LaunchOptions& options, const Environment& environment, const StepFacts& facts,
                  Clock& clock);

// The map that these options describe, of no step. Errors: those of pinstep-map.
Result<NodeMap> dry_run(const LaunchOptions& options, const Environment& environment);

}  // namespace pinstep
