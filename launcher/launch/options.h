// The command line of pinstep-launch.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "envtools/base/error.h"
#include "envtools/pin/pin.h"
#include "launcher/bind/bind.h"
#include "launcher/exports/exports.h"

namespace pinstep {

struct LaunchOptions {
  enum class Action { launch, dry_run, help, version };

  Action action = Action::launch;
  std::optional<std::string> env_spec;  // a prefix, or "none"
  std::optional<Shape> shape;           // nothing: the pin's
  bool is_child = false;                // one of the ranks that a task has started, not a task
  bool binds = true;
  MemoryPolicy memory = MemoryPolicy::preferred;
  Visible visible = Visible::all;
  std::optional<std::uint32_t> gpus_per_rank;
  std::string topology;       // a file that describes the node, or a line; empty: this node
  std::string nccl_topology;  // a file that tells where the devices are
  std::string nics;           // a list of cards to use or not to
  bool ignores_link = false;
  std::uint32_t system_cores = 0;
  bool writes_nccl_file = false;
  bool is_strict = false;  // a place that cannot be had is an error
  bool prints_map = false;
  bool scores = false;
  std::string picture;  // an SVG file to write; empty: none
  bool is_verbose = false;
  bool json = false;
  // For dry_run
  std::uint32_t ranks = 0;
  std::optional<std::string> gpus;
  std::optional<std::string> cpus;

  bool verifies = false;             // `program` is pinstep-verify, by this name, and the arguments for it
  std::vector<std::string> program;  // never empty for launch
};

extern const char* const kLaunchUsage;

// Options end at "--" or at the first word that is none. Errors: usage.
Result<LaunchOptions> parse_launch_options(const std::vector<std::string>& arguments);

}  // namespace pinstep
