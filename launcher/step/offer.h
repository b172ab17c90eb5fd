// What srun offers to the step it launches, in SLURM_PINSTEP_OFFER (base/variables.h): a name that passes
// every --export, since it begins with SLURM_.
//
//   1;node=NAME;addr=A|B;port=N;entry=0|1;first=NAME
//
// Written by every srun that acts for pinstep, so that a task never finds the offer of another srun. User
// input, like the pin: a task that cannot read it does without.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace pinstep {

struct Offer {
  std::string node;                    // Slurm's name of the node srun runs on, or its host name
  std::vector<std::string> addresses;  // literal, the best first; may be empty
  std::uint16_t port = 0;              // held by srun until the step ends; 0: none
  bool entry = false;                  // srun ran outside a job: the environment enters here
  std::string first;                   // the host file's first node; empty if there is no host file

  bool operator==(const Offer&) const = default;

  std::string text() const;
  static std::optional<Offer> parse(std::string_view text);
};

}  // namespace pinstep
