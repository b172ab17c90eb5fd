// Which of a node's network cards carry a job's traffic.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "envtools/base/error.h"
#include "launcher/machine/machine.h"

namespace pinstep {

// A list of cards as NCCL_IB_HCA has it: "mlx5_0,mlx5_1:1". Names are beginnings of names, or with "=" whole
// ones; "^" lists those to leave out, "^=" by whole names. A number after ":" is a port; what NCCL has behind
// that (rail and plane) does not select.
class NicList {
 public:
  // Errors: invalid (no name, a port that is no number).
  static Result<NicList> parse(std::string_view text);

  bool excludes() const { return excludes_; }
  // Whether an entry is about this card, in whichever of the two meanings. A card of several ports is one for
  // each, with ":PORT" in its name; else the port is 1.
  bool names(std::string_view nic) const;

 private:
  struct Entry {
    std::string name;
    std::optional<std::uint32_t> port;
  };
  bool excludes_ = false;
  bool exact_ = false;
  std::vector<Entry> entries_;
};

struct NicRules {
  bool ignores_link = false;
  std::optional<NicList> list;
  std::string list_name = "--nics";  // whose list it is, for the reasons
  bool list_is_nccls = false;        // it counts only where there are verbs devices
};

struct DroppedNic {
  std::string name;  // or its bus address
  std::string reason;

  bool operator==(const DroppedNic&) const = default;
};

struct NicChoice {
  std::vector<std::size_t> used;  // indices into `nics`
  std::vector<DroppedNic> dropped;
};

// Those that a list asks for and that have a link; without such a list those of the best kind of network there
// is with a link, less virtual functions beside their physical one, data processing units beside plain cards,
// and cards slower than the fastest of them: storage and management have such.
NicChoice choose_nics(const std::vector<Nic>& nics, const NicRules& rules);

}  // namespace pinstep
