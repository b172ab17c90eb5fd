// The pin: what travels with a job from submission to its steps, as one environment variable
// (base/variables.h, kPin). Format: FORMAT.md beside this file.
//
// A pin is user input: whoever can submit a job can forge one. It only ever acts with that user's
// rights, on files that user may read.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/activation/enter.h"
#include "envtools/base/error.h"

namespace pinstep {

// How the ranks of a step are started, and so which rendezvous variables it gets.
enum class Shape {
  automatic,  // rank, or torchrun where the program is torchrun
  rank,       // one task per rank
  torchrun,   // one task per node, torchrun starts the ranks
  spawn,      // one task per node, the program starts the ranks itself
  none,       // no rendezvous
};
std::string_view to_string(Shape shape);  // "auto", "rank", …
std::optional<Shape> parse_shape(std::string_view name);

// One platform's prefix.
struct PinnedPrefix {
  std::string platform;  // conda's name: linux-64, linux-aarch64
  std::string id;        // 64 hex digits, or "-" where nothing is pinned
  std::string prefix;    // absolute path

  bool operator==(const PinnedPrefix&) const = default;
};

// conda's name of the platform this program was compiled for.
std::string_view own_platform();

struct Pin {
  static constexpr int kSchema = 1;
  static constexpr std::size_t kSizeLimit = 4096;  // bytes of the text

  enum class Kind {
    store,    // built by pinstep: the prefix is <store>/e/<first 16 digits of the id>
    foreign,  // any other prefix: used as it is, not pinned
    none,     // no environment: the job's steps get a rendezvous only
  };

  Kind kind = Kind::foreign;
  std::string token;                  // 16 hex digits, new for each submission: names leases
  std::string lock = "-";             // sha256 of the lock's text
  std::string store = "-";            // absolute path
  std::vector<std::string> overlays;  // absolute paths put in front of the prefix
  Shape shape = Shape::automatic;
  bool gpu_share = false;  // the job's steps lift Slurm's per-task GPU isolation
  Policies policies;
  bool build_in_job = false;           // the batch step builds the prefix where it is missing
  std::string profile = "-";           // what the environment needs of a node
  std::string source = "-";            // where it was submitted from
  std::vector<PinnedPrefix> prefixes;  // at least one, one per platform; none for Kind::none

  bool operator==(const Pin&) const = default;

  // Round trip: parse(pin.text()) == pin for every pin that parse accepts.
  // Errors of parse: invalid; the message says "newer" where a newer pinstep wrote the pin.
  static Result<Pin> parse(std::string_view text);
  std::string text() const;

  // The prefix for a platform. Errors: invalid, naming the platforms that there are; not_found for Kind::none.
  Result<PinnedPrefix> prefix_for(std::string_view platform) const;
};

// A new token from the kernel's random source.
std::string new_token();

}  // namespace pinstep
